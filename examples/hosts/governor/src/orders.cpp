// SPDX-License-Identifier: BSL-1.0
#include "governor/src/orders.hpp"

#include "governor/src/clock.hpp"
#include "governor/src/replace_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace allot_governor {

namespace {

constexpr const char* freeze_file = "/freeze";
constexpr std::string_view start_prefix = "start-";

}  // namespace

std::string freeze_text(const freeze_order& f) {
  return std::to_string(f.since) + '\n' + std::to_string(f.until.value_or(0)) + '\n' + f.by + '\n' + f.why;
}

freeze_order parse_freeze(std::string_view text) {
  const auto next = [&] {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    return one;
  };
  const auto number = [](std::string_view of) {
    std::int64_t n = 0;
    std::from_chars(of.data(), of.data() + of.size(), n);
    return n;
  };
  freeze_order f;
  f.since = number(next());
  if (const std::int64_t until = number(next()); until > 0) f.until = until;
  f.by = next();
  f.why = text;
  return f;
}

std::string sentence(const freeze_order& f) {
  std::string text = "frozen since " + time_text(f.since);
  if (f.until) text += " until " + time_text(*f.until);
  if (!f.by.empty()) text += " by " + escaped(f.by);
  text += ", nobody is evicted";
  if (!f.why.empty()) text += ": " + escaped(f.why);
  return text;
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end + 1 != text.data() + text.size() || n <= 0) return std::nullopt;
  constexpr std::string_view units = "smhd";
  constexpr std::int64_t seconds_of[]{1, 60, 3600, 86'400};
  const std::size_t unit = units.find(*end);
  if (unit == std::string_view::npos || n > 365 * 86'400 / seconds_of[unit]) return std::nullopt;
  return n * seconds_of[unit] * 1000;
}

std::string order_files::ask(const start_order& o) const {
  // No directory, and nothing that is still being written.
  std::string name = o.job;
  for (char& c : name) {
    if (c == '/' || c == '.') c = '_';
  }
  return replace_file(directory_ + '/' + std::string{start_prefix} + name, o.by + '\n' + o.job);
}
std::string order_files::ask(const freeze_order& o) const {
  return replace_file(directory_ + freeze_file, freeze_text(o));
}
bool order_files::thaw(std::string& problem) const {
  std::error_code wrong;
  const bool was_frozen = std::filesystem::remove(directory_ + freeze_file, wrong);
  if (wrong) problem = wrong.message();
  return was_frozen;
}

bool order_files::read_freeze(decision_log& log) {
  const std::string path = directory_ + freeze_file;
  std::optional<freeze_order> order;
  if (std::ifstream in{path, std::ios::binary}) {
    order = parse_freeze(std::string{std::istreambuf_iterator<char>{in}, {}});
  }
  if (order && order->until && *order->until <= now().wall) {
    std::error_code missing;
    std::filesystem::remove(path, missing);
    order.reset();
  }
  if (order == frozen_) return false;
  log("freeze", {{"state", order ? "frozen" : "thawed"},
                 {"by", order ? order->by : ""},
                 {"until", order && order->until ? time_text(*order->until) : ""},
                 {"why", order ? order->why : ""}});
  frozen_ = std::move(order);
  return true;
}

std::vector<start_order> order_files::take_starts() const {
  std::vector<std::filesystem::path> asked;
  std::error_code missing;
  for (const auto& f : std::filesystem::directory_iterator{directory_, missing}) {
    const std::string name = f.path().filename().string();
    if (name.starts_with(start_prefix) && !name.ends_with(being_written)) asked.push_back(f.path());
  }
  std::vector<start_order> all;
  for (const auto& path : asked) {
    start_order o;
    std::ifstream in{path};
    std::getline(in, o.by);
    if (!std::getline(in, o.job)) o.job = path.filename().string().substr(start_prefix.size());
    if (std::filesystem::remove(path, missing)) all.push_back(std::move(o));
  }
  return all;
}

}  // namespace allot_governor
