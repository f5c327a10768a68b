// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/ledger.hpp>
#include <allot/scheduler/detail/pending_queue.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Which quotas' jobs would be tried in vain if they were requeued, each of them: no bound keeps them from
/// it, but there is no place, or none on what is guaranteed, and no search may find a victim. When that may
/// be otherwise is watched, so that a release costs what it makes possible, not what waits.
///
/// Only leaves that compete at a root, or with roots: what competes below other quotas, though in vain,
/// decides when it is their turn.
template <class Session>
class chances {
 public:
  using record = typename Session::record;

  /// Whether the cycle has others restarted elsewhere, and whether a search on behalf of a job may find a
  /// victim.
  chances(Session& session, bool moves_others, bool (*may_find_victims)(Session&, const record&))
      : session_(&session), moves_others_(moves_others), may_find_victims_(may_find_victims) {}

  template <class Watch, class Wake>
  void look(Watch& watch, Wake wake) const {
    const ledger<Session::n>& l = session_->books().assumed();
    watch.look([&](quota_id root, std::size_t d) { return l.room(root, d); },
               [&](class_number number) { return has_place(number); }, wake);
  }
  template <class Watch>
  [[nodiscard]] bool are_none(quota_id x, Watch& watch) const {
    const quota_tree<n>& tree = session_->tree();
    if (!tree.children(x).empty() || (tree.parent(x) && tree.parent(tree.parent(x)))) return false;
    // Who restarts others elsewhere, or reserves, may do so at any time.
    if (moves_others_ || session_->queues().settings(x).head == queue_head::reserve) return false;
    return session_->queues().all_tried(x, [&](class_number number, job_id id) {
      const record& r = session_->jobs().at(id);
      return r.menu.empty() && has_room(r, watch) &&
             (lacks_guarantee(r) || (lacks_victims(r) && lacks_place(r, number, watch)));
    });
  }

 private:
  static constexpr std::size_t n = Session::n;

  [[nodiscard]] bool has_place(class_number number) const {
    const auto* const its = session_->queues().request_class(number);
    return its == nullptr || could_place(session_->books().places, its->pod_request);
  }
  template <class Watch>
  [[nodiscard]] bool lacks_place(const record& r, class_number number, Watch& watch) const {
    if (watch.has_place(number, [&] { return has_place(number); })) return false;
    watch.wait_for_place(number, r.facts.quota);
    return true;
  }
  /// Whether the job, which never borrows, asks for more than other such jobs of its quota leave. They are
  /// no victims.
  [[nodiscard]] bool lacks_guarantee(const record& r) const {
    if (r.facts.in != capacity_kind::guaranteed) return false;
    for (std::size_t d = 0; d < n; ++d) {
      const quantity asked = r.facts.request[d];
      const quantity room = session_->books().assumed().room(r.facts.quota, d, capacity_kind::guaranteed);
      if (asked > quantity{} && asked > room) return true;
    }
    return false;
  }
  /// Whether neither its quota's bound nor the root's leaves less than it asks for. Where one does, whether
  /// it is tried depends on what others ask for. What its quota has left changes with its own jobs alone.
  template <class Watch>
  [[nodiscard]] bool has_room(const record& r, Watch& watch) const {
    const ledger<n>& l = session_->books().assumed();
    const quota_id x = r.facts.quota;
    const quota_id root = l.tree().parent(x);
    for (std::size_t d = 0; d < n; ++d) {
      if (r.facts.request[d] > l.room(x, d)) return false;
      if (!root) continue;
      const quantity arriving = l.passed_up(x, d, r.facts.request[d]);
      if (arriving > l.room(root, d)) return false;
      watch.wait_below(root, d, arriving, x);
    }
    return true;
  }
  /// Whether no search for victims may find any: that changes with its quota's own jobs alone, too.
  [[nodiscard]] bool lacks_victims(const record& r) const {
    return !r.may_preempt() || !may_find_victims_(*session_, r);
  }

  Session* session_;
  bool moves_others_;
  bool (*may_find_victims_)(Session&, const record&);
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
