// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

bool job_id_less(std::string_view a, std::string_view b) noexcept {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool a_is_number = is_number(a);
  if (a_is_number != is_number(b)) return a_is_number;
  if (!a_is_number) return a < b;
  const auto significant = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const std::string_view x = significant(a);
  const std::string_view y = significant(b);
  if (x.size() != y.size()) return x.size() < y.size();
  if (x != y) return x < y;
  return a.size() < b.size();
}

void sort_by_submission(trace& t) {
  const auto before = [&ids = t.ids](const trace_job& a, const trace_job& b) {
    return a.submit != b.submit ? a.submit < b.submit : job_id_less(ids[a.id], ids[b.id]);
  };
  if (!std::is_sorted(t.jobs.begin(), t.jobs.end(), before)) std::sort(t.jobs.begin(), t.jobs.end(), before);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
