// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/timestamp.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using std::chrono::milliseconds;

class timestamp_parser {
 public:
  explicit timestamp_parser(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] std::optional<instant> run() noexcept {
    const std::chrono::year year{digits(4)};
    expect('-');
    const std::chrono::month month{static_cast<unsigned>(digits(2))};
    expect('-');
    const std::chrono::day of_month{static_cast<unsigned>(digits(2))};
    const std::chrono::year_month_day date{year, month, of_month};
    if (failed_ || !date.ok()) return std::nullopt;
    milliseconds t = std::chrono::sys_days{date}.time_since_epoch();
    if (rest_.empty()) return t.count();
    if (!take('T') && !take('t')) expect(' ');
    t += time_of_day();
    t -= offset();
    if (failed_ || !rest_.empty()) return std::nullopt;
    return t.count();
  }

 private:
  [[nodiscard]] bool at_digit() const noexcept {
    return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
  }
  bool take(char c) noexcept {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) noexcept { failed_ |= !take(c); }
  int digits(std::size_t count) noexcept {
    int n = 0;
    for (; count > 0; --count) {
      if (!at_digit()) {
        failed_ = true;
        return 0;
      }
      n = 10 * n + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return n;
  }
  milliseconds time_of_day() noexcept {
    const std::chrono::hours hours{digits(2)};
    expect(':');
    const std::chrono::minutes minutes{digits(2)};
    std::chrono::seconds seconds{0};
    milliseconds fraction{0};
    if (take(':')) {
      seconds = std::chrono::seconds{digits(2)};
      if (take('.')) {
        // Kubernetes writes microseconds in some places; anything finer than a tick is cut off.
        milliseconds unit{100};
        do {
          fraction += unit * digits(1);
          unit /= 10;
        } while (!failed_ && at_digit());
      }
    }
    // A leap second is the first second of the next minute.
    failed_ |= hours.count() > 23 || minutes.count() > 59 || seconds.count() > 60;
    return hours + minutes + seconds + fraction;
  }
  milliseconds offset() noexcept {
    if (rest_.empty() || take('Z') || take('z')) return milliseconds{0};
    const bool west = take('-');
    if (!west) expect('+');
    const std::chrono::hours hours{digits(2)};
    const std::chrono::minutes minutes{take(':') || !rest_.empty() ? digits(2) : 0};
    failed_ |= hours.count() > 23 || minutes.count() > 59;
    return (west ? -1 : 1) * (hours + minutes);
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::optional<instant> parse_timestamp(std::string_view text) noexcept {
  return timestamp_parser{text}.run();
}

std::string to_timestamp(instant t) {
  const std::chrono::sys_time<milliseconds> time{milliseconds{t}};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss of_day{time - midnight};
  std::string text = fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 of_day.hours().count(), of_day.minutes().count(), of_day.seconds().count());
  const auto rest = of_day.subseconds().count();
  if (rest != 0) text += fmt::format(".{:03}", rest);
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
