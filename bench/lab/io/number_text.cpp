// SPDX-License-Identifier: BSL-1.0
#include "lab/io/number_text.hpp"

#include <allot/lab/metrics/figures.hpp>
#include <allot/sim/job.hpp>

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string rounded(std::int64_t thousandths, unsigned places) {
  const bool negative = thousandths < 0;
  auto n = static_cast<std::uint64_t>(negative ? -thousandths : thousandths);
  std::uint64_t unit = 1;
  for (unsigned i = places; i < 3; ++i) unit *= 10;
  n = (n + unit / 2) / unit * unit;
  std::string text = negative && n != 0 ? "-" : "";
  text += grouped(n / 1000);
  if (places > 0) text.append(".").append(std::to_string(1000 + n % 1000), 1, places);
  return text;
}

std::string percent(std::int64_t millionths) {
  return rounded(millionths / 10, 2) + " %";
}

using namespace sim;

std::string human_time(instant milliseconds) {
  const auto in = [&](instant unit) { return (milliseconds * 1000 + unit / 2) / unit; };
  if (milliseconds < 10 * second) return rounded(in(second), milliseconds % second == 0 ? 0 : 1) + " s";
  if (milliseconds < 2 * minute) return rounded(in(second), 0) + " s";
  if (milliseconds < 2 * hour) return rounded(in(minute), 0) + " min";
  if (milliseconds < 2 * day) return rounded(in(hour), 1) + " h";
  return rounded(in(day), 1) + " d";
}

std::string human_instant(instant milliseconds) {
  const auto two = [](instant n) { return std::to_string(100 + n).substr(1); };
  const instant of_day = milliseconds % day;
  return "day " + grouped(static_cast<std::uint64_t>(milliseconds / day)) + ", " + two(of_day / hour) + ':' +
         two(of_day % hour / minute);
}

std::string human_hours(wide gpu_time) {
  const std::int64_t milli = milli_gpu_hours(gpu_time);
  return rounded(milli, milli < 100'000 ? 1 : 0) + " GPU-h";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
