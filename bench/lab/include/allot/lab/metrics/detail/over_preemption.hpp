// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace lab {

/// The GPUs of all jobs evicted for one job at one instant, beyond what it requested. Gangs are evicted as a
/// whole, so a job of one GPU may cost a gang of 64. What was free besides does not count: it was not enough.
class over_preemption {
 public:
  /// A job with `gone` GPUs was evicted for one that requests `asked`, both in milli.
  void note(sim::job_index beneficiary, std::int64_t gone, std::int64_t asked) {
    const auto at = allot::detail::find_if(now_.begin(), now_.end(),
                                           [&](const bill& b) { return b.beneficiary == beneficiary; });
    (at == now_.end() ? now_.emplace_back(bill{beneficiary, 0, asked}) : *at).gone += gone;
  }
  /// The instant is over.
  void settle() {
    for (const bill& b : now_) total_ += static_cast<wide>(std::max<std::int64_t>(0, b.gone - b.asked));
    now_.clear();
  }
  /// In milli-GPUs.
  [[nodiscard]] wide total() const noexcept { return total_; }

 private:
  struct bill {
    sim::job_index beneficiary = 0;
    std::int64_t gone = 0;
    std::int64_t asked = 0;
  };

  vector<bill> now_;
  wide total_ = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
