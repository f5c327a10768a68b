// SPDX-License-Identifier: BSL-1.0
#include "lab/report/distributions.hpp"

#include "lab/report/result_files.hpp"

#include <allot/lab/decimal.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

std::int64_t distribution::at(std::size_t thousandths) const {
  const std::size_t n = values.size();
  return values[std::min(n - 1, n / 1000 * thousandths + n % 1000 * thousandths / 1000)];
}

std::array<distribution, 5> distributions_of(const replay_result& r) {
  std::array<distribution, 5> all{
      {{"queue_s"}, {"wait_s"}, {"jct_s"}, {"slowdown"}, {"finish_time_fairness", 6}}};
  auto& [queue, wait, jct, slowdown, fairness] = all;
  for (const replayed_job& j : r.jobs) {
    if (!r.window.contains(j.submit)) continue;
    if (j.start) queue.values.push_back(*j.start - j.submit);
    if (j.outcome != sim::job_outcome::completed) continue;
    const instant took = *j.end - j.submit;
    wait.values.push_back(j.wait);
    jct.values.push_back(took);
    slowdown.values.push_back(bounded_slowdown_in_thousandths(took, j.duration, short_time));
    if (j.fairness) fairness.values.push_back(*j.fairness);
  }
  for (distribution& d : all) std::sort(d.values.begin(), d.values.end());
  return all;
}

void write_distributions(output_file& file, const replay_result& r) {
  const auto all = distributions_of(r);
  std::string& text = file.text();
  text += "percent";
  for (const distribution& d : all) text.append(",").append(d.name);
  text += '\n';
  for (std::size_t thousandths = 0; thousandths <= 1000; thousandths += thousandths < 990 ? 10 : 1) {
    append_milli(text, static_cast<std::int64_t>(thousandths) * 100);
    for (const distribution& d : all) {
      text += ',';
      if (d.values.empty()) continue;
      const std::int64_t value = d.at(thousandths);
      d.decimals == 3 ? append_milli(text, value) : void(text += decimal_of_millionths(value));
    }
    text += '\n';
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
