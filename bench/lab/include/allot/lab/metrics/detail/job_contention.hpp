// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

/// How many jobs share the cluster while each of them is there, pending or running: what finish-time fairness
/// is measured against when every job is a user of its own with 1/N of the cluster (Mahajan et al., Themis,
/// NSDI 2020). Exact.
class job_contention {
 public:
  /// A job has come.
  void come(std::size_t jobs, sim::job_index j, instant now) {
    pass(now);
    if (at_arrival_.size() < jobs) at_arrival_.resize(jobs);
    at_arrival_[j] = now_;
    ++present_;
  }
  /// One has gone.
  void leave(instant now) {
    pass(now);
    --present_;
  }
  /// The GPUs of the cluster from now on.
  void look(instant now, quantity capacity) {
    pass(now);
    is_bounded_ = is_bounded_ && capacity.is_bounded();
    capacity_ = capacity.is_bounded() ? capacity.in_milli() : 0;
  }

  /// Of a job that ends now, after `took`: that time over what it would have taken with an equal share of the
  /// cluster, on the average of its stay, in millionths. It asked for this many milli-GPUs, and more of them
  /// than its share would not have made it faster. Nothing if the capacity is unbounded. A time of zero
  /// counts as a millisecond. Precondition: it came when it was submitted, and has not been told to leave.
  [[nodiscard]] std::optional<std::int64_t> fairness(sim::job_index j, instant now, instant took,
                                                     instant duration, std::int64_t gpus) {
    pass(now);
    if (!is_bounded_) return std::nullopt;
    const wide stay = static_cast<wide>(std::max<instant>(took, 1));
    const wide work = static_cast<wide>(std::max<instant>(duration, 1));
    const wide jobs = now_.jobs - at_arrival_[j].jobs;
    const wide capacity = now_.capacity - at_arrival_[j].capacity;
    const wide wanted = jobs * static_cast<wide>(gpus);
    const bool is_less = wanted > capacity && capacity > 0;
    const wide part = is_less ? stay * capacity : stay;
    const wide whole = is_less ? work * wanted : work;
    constexpr wide million = 1'000'000;
    const wide most = static_cast<wide>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(most, (part * million + whole / 2) / whole));
  }

 private:
  /// Jobs, and milli-GPUs, times milliseconds.
  struct integrals {
    wide jobs = 0;
    wide capacity = 0;
  };

  void pass(instant now) {
    const auto span = static_cast<wide>(now - since_);
    since_ = now;
    now_.jobs += static_cast<wide>(present_) * span;
    now_.capacity += static_cast<wide>(capacity_) * span;
  }

  integrals now_;
  instant since_ = 0;
  std::size_t present_ = 0;
  std::int64_t capacity_ = 0;
  bool is_bounded_ = true;
  vector<integrals> at_arrival_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
