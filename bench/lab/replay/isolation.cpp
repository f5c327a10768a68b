// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/isolation.hpp>

#include <allot/core/assert.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

anomaly_figures sharing_anomaly(std::span<const shared_and_alone> delays) {
  anomaly_figures f;
  f.jobs = delays.size();
  for (const shared_and_alone& d : delays) {
    ALLOT_ASSERT(d.shared >= 0 && d.alone >= 0, "a delay is not negative");
    f.shared += static_cast<wide>(d.shared);
    f.alone += static_cast<wide>(d.alone);
  }
  return f;
}

finish_time_figures finish_time_fairness(std::span<const shared_and_alone> times) {
  finish_time_figures f;
  f.jobs = times.size();
  for (const shared_and_alone& t : times) {
    ALLOT_ASSERT(t.shared >= 0 && t.alone >= 0, "a completion time is not negative");
    const wide shared = static_cast<wide>(std::max<instant>(t.shared, 1));
    const wide alone = static_cast<wide>(std::max<instant>(t.alone, 1));
    const auto rho = static_cast<std::int64_t>((shared * 1'000'000 + alone / 2) / alone);
    f.sum += static_cast<wide>(rho);
    f.max = std::max(f.max, rho);
    f.above_one += shared > alone ? 1U : 0U;
    f.unfair += shared * 100 > alone * 105 ? 1U : 0U;
  }
  return f;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
