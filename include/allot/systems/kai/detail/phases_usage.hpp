// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// What the quotas have used lately, as the steps of a scheduler see it: what a job holds counts from the
/// step that is told of it to the step that is told that it has gone.
template <class Bench>
class phases_usage {
 public:
  static constexpr std::size_t n = Bench::n;
  using part = per_dimension<std::int64_t, n>;

  explicit phases_usage(const history_settings& settings) : history_(settings) {}

  /// The bench has a new tree. Quotas keep the usage they have had.
  void reset(const Bench& bench) {
    if (charged_.empty()) {
      history_.reset(bench.tree(), bench.now());
    } else {
      history_.follow(bench.tree());
    }
    charged_.resize(bench.tree().slots());
    parts_.resize(bench.tree().slots());
  }
  /// The usage of x may have changed. O(depth).
  void note(Bench& bench, quota_id x) {
    const resources<n> now = bench.held().own_usage(x);
    resources<n>& before = charged_[x.index()];
    if (now == before) return;
    history_.release(bench.tree(), x, before, bench.now());
    history_.charge(bench.tree(), x, now, bench.now());
    before = now;
  }
  /// Of each quota with all below it, in parts of `usage_scale`, as of now. O(n).
  [[nodiscard]] std::span<const part> parts(const Bench& bench, const resources<n>& capacity) {
    if (capacity != capacity_) history_.set_capacity(capacity_ = capacity, bench.now());
    history_.advance(bench.now());
    constexpr std::int64_t billion = 1'000'000'000;
    for (const quota_id x : bench.tree().top_down()) {
      for (std::size_t d = 0; d < n; ++d) {
        parts_[x.index()][d] =
            history_.past_use(x, false, d) / (billion / whole_unit_division<n>::usage_scale);
      }
    }
    return parts_;
  }

 private:
  usage_history<n> history_;
  /// By quota: what its own jobs were charged with last.
  std::vector<resources<n>> charged_;
  std::vector<part> parts_;
  resources<n> capacity_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
