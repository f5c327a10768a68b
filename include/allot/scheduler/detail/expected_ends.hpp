// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// When a running job is expected to end.
struct expected_end {
  /// In the past if it overruns: then it may end at any moment.
  instant at = 0;
  /// The job.
  job_id job{};
  friend constexpr auto operator<=>(const expected_end&, const expected_end&) noexcept = default;
};

namespace detail {

/// The running jobs that have an expected end, the earliest first.
class expected_ends {
 public:
  /// O(log jobs), and a move of those that end later.
  void insert(const expected_end& e) { ends_.insert(place_of(e), e); }
  /// Precondition: it is there.
  void erase(const expected_end& e) {
    const auto at = place_of(e);
    ALLOT_ASSERT(at != ends_.end() && *at == e, "the job has an expected end");
    ends_.erase(at);
  }
  /// All times move by that span.
  void rebase(instant by) {
    const vector<expected_end> before = std::exchange(ends_, {});
    for (const expected_end& e : before) insert({moved(e.at, by), e.job});
  }
  [[nodiscard]] std::span<const expected_end> all() const noexcept { return ends_; }

 private:
  [[nodiscard]] vector<expected_end>::iterator place_of(const expected_end& e) {
    return std::lower_bound(ends_.begin(), ends_.end(), e);
  }

  vector<expected_end> ends_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
