// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/progress.hpp"

#include "lab/io/number_text.hpp"
#include "lab/io/terminal.hpp"

#include <allot/lab/trace.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_shown{500};
constexpr milliseconds shown_every{200};

}  // namespace

std::string shown_span(milliseconds span) {
  const auto seconds = (span.count() + 999) / 1000;
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string progress_text(const simulated_so_far& so_far, milliseconds elapsed) {
  std::string text = fmt::format("day {}", so_far.now / day);
  if (so_far.until) text += fmt::format(" of {}", (*so_far.until + day - 1) / day);
  text += fmt::format(", {} of {} jobs done", grouped(so_far.jobs_ended), grouped(so_far.jobs));
  // Rates and times are approximate, for people.
  const double seconds = static_cast<double>(elapsed.count()) / 1000;
  if (seconds <= 0) return text;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(so_far.events) / seconds);
  const std::uint64_t round = rate < 10'000 ? 1 : 1000;
  text += fmt::format(", {} events/s", grouped(rate / round * round));
  const auto part_of = [](auto part, auto whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  const double done = std::max(part_of(so_far.jobs_ended, so_far.jobs),
                               so_far.until ? part_of(so_far.now, *so_far.until) : 0);
  // The first hundredth says nothing about the rest.
  if (done < 0.01) return text;
  const double left = seconds * (1 - std::min(done, 1.0)) / done;
  return text + fmt::format(", {} left", shown_span(milliseconds{static_cast<std::int64_t>(left * 1000)}));
}

status_line::status_line(bool wanted)
    : shown_at_(first_shown - shown_every), is_shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}

bool status_line::is_due() noexcept {
  if (!is_shown_) return false;
  elapsed_ = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin_);
  return elapsed_ - shown_at_ >= shown_every;
}

void status_line::show(const std::string& text) {
  if (!is_shown_) return;
  shown_at_ = elapsed_;
  has_shown_ = true;
  std::fprintf(stderr, "\r%s\033[K", text.substr(0, terminal_width(stderr) - 1).c_str());
  std::fflush(stderr);
}

void status_line::clear() noexcept {
  if (!has_shown_) return;
  has_shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
