// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A node that is known to be closed for a while: a maintenance, or what is promised away.
struct outage {
  /// Which node.
  node_id node;
  /// From when, by the host's clock.
  instant from = 0;
  /// When it is back; `without_end`: it is not known, or never.
  instant to = without_end;

  friend bool operator==(const outage&, const outage&) = default;
};

namespace detail {

/// The outages that are known, as of a time that may be ahead of the clock.
class outage_list {
 public:
  /// Replaces all.
  void know(vector<outage> all) {
    erase_if(all, [](const outage& o) { return o.to <= o.from; });
    allot::detail::sort(all.begin(), all.end(), [](const outage& a, const outage& b) {
      return std::pair{a.from, a.node} < std::pair{b.from, b.node};
    });
    all_ = std::move(all);
    changes_.clear();
    for (const outage& o : all_) {
      changes_.push_back(o.from);
      changes_.push_back(o.to);
    }
    allot::detail::sort(changes_.begin(), changes_.end());
  }
  [[nodiscard]] std::span<const outage> all() const noexcept { return all_; }

  void set_now(instant now) noexcept { now_ = at_ = now; }
  void look_ahead(instant at) noexcept { at_ = at; }
  void rebase(instant by) {
    for (outage& o : all_) o = {o.node, allot::detail::moved(o.from, by), allot::detail::moved(o.to, by)};
    for (instant& t : changes_) t = allot::detail::moved(t, by);
    set_now(allot::detail::moved(now_, by));
  }

  /// The next time after that at which one begins or ends.
  [[nodiscard]] instant next_change(instant after) const {
    const auto at = std::upper_bound(changes_.begin(), changes_.end(), after);
    return at == changes_.end() ? without_end : *at;
  }
  /// Calls `visit(node)` for each node that is out at some time of a run that starts then.
  template <class Visit>
  void for_each_met(const run_estimate& run, Visit visit) const {
    const bool is_bound = run.before_outages && run.is_known();
    const instant last = is_bound ? later(at_, run.span) - 1 : at_;
    for (const outage& o : all_) {
      if (o.from > last) break;
      if (o.to > at_) visit(o.node);
    }
  }
  /// The same for each that is out now, and back by then.
  template <class Visit>
  void for_each_over(Visit visit) const {
    for (const outage& o : all_) {
      if (o.from > now_) break;
      if (o.to > now_ && o.to <= at_) visit(o.node);
    }
  }

 private:
  /// By their beginning.
  vector<outage> all_;
  /// When they begin and end, in order.
  vector<instant> changes_;
  instant now_ = 0;
  instant at_ = 0;
};

}  // namespace detail

}  // namespace gpu
}  // namespace v0
}  // namespace allot
