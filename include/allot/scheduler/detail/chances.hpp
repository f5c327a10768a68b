// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/ledger.hpp>
#include <allot/scheduler/detail/pending_queue.hpp>
#include <allot/scheduler/detail/requeue_watch.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Says which quotas need not be requeued, because every job of theirs would be tried in vain: all of them
/// fit the quotas, but no node, or ask for more than is guaranteed, and a search can't find a victim. What
/// could change that is watched, so that a release costs what it makes possible, not what waits.
///
/// This is limited to leaves whose parent is a root, and to roots without children. Deeper in the tree, even
/// a job that is tried in vain decides when it is the turn of the quotas beside it.
template <class Session>
class chances {
 public:
  using record = typename Session::record;
  using watch = requeue_watch<Session::n, class_number>;

  /// `may_find_victims` says whether a search on behalf of a job may find any.
  chances(Session& session, bool (*may_find_victims)(Session&, const record&))
      : session_(&session), may_find_victims_(may_find_victims) {}

  /// Calls `wake(quota)` for each of which a job may have a chance by now.
  template <class Wake>
  void look(watch& watched, Wake wake) const {
    const ledger<n>& l = session_->books().assumed();
    watched.look([&](quota_id root, std::size_t d) { return l.room(root, d); },
                 [&](class_number number) { return has_place(number); }, wake);
  }
  /// Whether no job of the quota has a chance; then it is watched.
  [[nodiscard]] bool are_none(quota_id x, watch& watched) const {
    const quota_tree<n>& tree = session_->tree();
    if (!tree.children(x).empty() || (tree.parent(x) && tree.parent(tree.parent(x)))) return false;
    // A job may get a reservation at any time.
    if (session_->queues().settings(x).head == queue_head::reserve) return false;
    return session_->queues().all_tried(x, [&](class_number number, job_id id) {
      const record& r = session_->jobs().at(id);
      return r.menu.empty() && has_room(r, watched) &&
             (lacks_guarantee(r) || (lacks_victims(r) && lacks_place(r, number, watched)));
    });
  }

 private:
  static constexpr std::size_t n = Session::n;

  [[nodiscard]] bool has_place(class_number number) const {
    const auto* const its = session_->queues().request_class(number);
    return its == nullptr || could_place(session_->books().places, its->pod_request);
  }
  [[nodiscard]] bool lacks_place(const record& r, class_number number, watch& watched) const {
    if (watched.has_place(number, [&] { return has_place(number); })) return false;
    watched.wait_for_place(number, r.facts.quota);
    return true;
  }
  /// Whether the job never borrows, and asks for more than the other such jobs of its quota leave: those are
  /// never victims.
  [[nodiscard]] bool lacks_guarantee(const record& r) const {
    if (r.facts.in != capacity_kind::guaranteed) return false;
    for (std::size_t d = 0; d < n; ++d) {
      const quantity asked = r.facts.request[d];
      const quantity room = session_->books().assumed().room(r.facts.quota, d, capacity_kind::guaranteed);
      if (asked > quantity{} && asked > room) return true;
    }
    return false;
  }
  /// Whether the bounds of its quota and of the root leave what it asks for. If one does not, it depends on
  /// other quotas' jobs whether it would be tried. What its quota leaves changes with its own jobs alone.
  [[nodiscard]] bool has_room(const record& r, watch& watched) const {
    const ledger<n>& l = session_->books().assumed();
    const quota_id x = r.facts.quota;
    const quota_id root = l.tree().parent(x);
    for (std::size_t d = 0; d < n; ++d) {
      if (r.facts.request[d] > l.room(x, d)) return false;
      if (!root) continue;
      const quantity arriving = l.passed_up(x, d, r.facts.request[d]);
      if (arriving > l.room(root, d)) return false;
      watched.wait_below(root, d, arriving, x);
    }
    return true;
  }
  /// Whether a search for victims can't find any: that changes with its quota's own jobs alone, too.
  [[nodiscard]] bool lacks_victims(const record& r) const {
    return !r.may_preempt() || !may_find_victims_(*session_, r);
  }

  Session* session_;
  bool (*may_find_victims_)(Session&, const record&);
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
