// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kai/detail/by_job.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The pending units of each quota, by kind, each kind in order: only units that come or leave are visited.
///
/// `job_walk` visits the pending units. Meanwhile others may come and leave: it sees the queues as of a
/// `moment`, as long as nothing is swept.
template <class Session>
class job_queues {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  /// Numbers the changes of the queues.
  using moment = std::uint64_t;

  struct waiting_unit {
    unit_rank rank;
    unit_id id;
    resources<n> request;
  };
  /// The stay of a unit in its queue. Stays are numbered as they begin.
  struct stay {
    unit_rank rank;
    unit_id id;
    std::uint64_t number = 0;
    moment came = 0;
    moment left = std::numeric_limits<moment>::max();

    [[nodiscard]] bool was_there(moment then) const noexcept { return came <= then && then < left; }
  };
  /// The units of a quota that have the same request and the same chances, by rank.
  struct pending_kind {
    class_number request_class{};
    bool preemptible = true;
    bool elastic = false;
    /// Whether others may be evicted for them by now.
    bool may_preempt = true;
    unit_kind<n> kind;
    resources<n> request;
    vector<stay> stays{};
    /// How many of the stays are over; all those before `first` are.
    std::size_t gone = 0;
    std::size_t first = 0;
    bool to_sweep = false;
    /// Counts the changes of `stays`.
    std::uint64_t version = 0;
  };

  /// The session may have moved since the last call of the scheduler.
  void bind(Session& session) noexcept { session_ = &session; }

  void reset() {
    queues_.assign(session_->tree().slots(), queue{});
    where_.clear();
    to_sweep_.clear();
    session_->queues().follow_stays();
    for (const quota_id x : session_->tree().top_down()) {
      session_->jobs().for_each_waiting(x, [&](job_id id) { enter(id); });
    }
  }
  /// The quota has changed.
  void forget(quota_id x) { queues_[x.index()].elastic_pod_is_old = true; }
  /// Takes note of the units that have come and left. With `sweep`, stays that are over are dropped now and
  /// then; this requires that no queue is being walked.
  void follow(bool sweep) {
    ++now_;
    session_->queues().take_stays([&](const auto& news) {
      if (!news.begins) return leave(news.id, news.ticket);
      if (!session_->jobs().contains(news.id)) return;
      const record& r = session_->jobs().at(news.id);
      if (r.state == job_state::pending && r.ticket == news.ticket) enter(news.id);
    });
    if (!sweep) return;
    for (const auto& [x, kind] : to_sweep_) {
      ++queues_[x.index()].version;
      this->sweep(queues_[x.index()].kinds[kind]);
    }
    for (const auto& [x, kind] : to_sweep_) forget_kinds(queues_[x.index()]);
    to_sweep_.clear();
  }
  [[nodiscard]] moment now() const noexcept { return now_; }
  /// Adds a unit that the session does not know, until `remove_extra`.
  void add_extra(const record& r, const unit_kind<n>& kind, const unit_rank& rank) {
    ++now_;
    insert(queues_[r.facts.quota.index()], r, kind, rank);
  }
  void remove_extra(const record& r, const unit_rank& rank) {
    ++now_;
    vector<pending_kind>& kinds = queues_[r.facts.quota.index()].kinds;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (auto at = first_from(kinds[k].stays, rank); at != kinds[k].stays.end() && at->rank == rank; ++at) {
        if (at->id == unit_id::of(r) && at->was_there(now_)) return end_stay(kinds[k], *at, r.facts.quota, k);
      }
    }
  }

  /// The kinds of the units pending in x. Kinds are appended; an elastic pod has its current rank and kind.
  [[nodiscard]] std::span<const pending_kind> kinds(quota_id x) {
    queue& q = queues_[x.index()];
    if (std::exchange(q.elastic_pod_is_old, false)) renew_elastic(x);
    return q.kinds;
  }
  /// Counts the changes of the queue of x: while it stays, so does what a walk that starts there finds.
  [[nodiscard]] std::uint64_t version(quota_id x) const { return queues_[x.index()].version; }
  /// The same without checking for changes.
  [[nodiscard]] std::span<const pending_kind> kinds(quota_id x) const { return queues_[x.index()].kinds; }
  [[nodiscard]] unit_rank rank_of(const record& r) const {
    unit_rank rank = unit_rank::of(r, 0);
    if (r.facts.elastic) {
      const record& core = session_->jobs().at(r.facts.core);
      rank.stage = session_->jobs().running_pods(core) > core.facts.pods ? 2 : 1;
    }
    return rank;
  }
  [[nodiscard]] waiting_unit unit_of(const record& r) const {
    return {rank_of(r), r.facts.id, r.facts.request};
  }

  /// What is pending in x, including pods of elastic jobs that are not units yet. Precondition: `follow` was
  /// called. O(running elastic jobs that could have more pods).
  [[nodiscard]] resources<n> asked(quota_id x) {
    const queue& q = queues_[x.index()];
    resources<n> sum = session_->queues().asked(x) + q.to_come.amount();
    for (const job_id id : q.elastic_pods) {
      // Its id may have been reused for a whole job.
      if (!is_here(x, id) || !session_->jobs().at(id).facts.elastic) continue;
      sum += to_come(session_->jobs().at(session_->jobs().at(id).facts.core));
    }
    return sum;
  }

 private:
  static constexpr std::size_t least_kinds = 64;

  struct queue {
    vector<pending_kind> kinds;
    /// From this size on, kinds are checked for removal.
    std::size_t most_kinds = least_kinds;
    /// The elastic pods, possibly including some that have left.
    vector<job_id> elastic_pods;
    /// What the jobs pending as a whole request in addition: pods that are not units yet.
    exact_sum<n> to_come{};
    bool elastic_pod_is_old = true;
    std::uint64_t version = 1;
  };
  /// By job: its last stay.
  struct last_stay {
    std::uint64_t number = 0;
    std::uint32_t ticket = 0;
    bool gone = true;
    quota_id quota{};
    std::size_t kind = 0;
    unit_rank rank{};
    /// What it adds to that of its queue while it is there.
    resources<n> to_come{};
  };

  [[nodiscard]] bool is_here(quota_id x, job_id id) const {
    const last_stay* const last = where_.find(id);
    return last != nullptr && !last->gone && last->quota == x && session_->jobs().contains(id) &&
           session_->jobs().at(id).ticket == last->ticket &&
           session_->jobs().at(id).state == job_state::pending;
  }

  /// The request of a job's pods that are not units yet.
  [[nodiscard]] resources<n> to_come(const record& core) const {
    if constexpr (elastic_view<typename Session::view_type>) {
      if (core.pods_to_come == 0) return {};
      if (!core.has_unlike_pods)
        return resources<n>{session_->view().request(core.what, 1)} * core.pods_to_come;
      if constexpr (pod_set_view<typename Session::view_type>) {
        // All that are to come do, in whatever order.
        using shown = view_or_default<typename Session::view_type>;
        const auto& view = session_->view();
        const pods_by_set has = session_->jobs().pods_of(core);
        resources<n> sum;
        for (std::size_t s = 0; s < shown::sets(view, core.what); ++s) {
          const std::uint32_t most = shown::pods(view, core.what, s).most;
          if (most > has[s]) sum += view.request(core.what, pod_set_id{s}) * (most - has[s]);
        }
        return sum;
      }
    }
    return {};
  }

  void enter(job_id id) {
    const record& r = session_->jobs().at(id);
    queue& q = queues_[r.facts.quota.index()];
    if (r.facts.elastic) {
      erase_if(q.elastic_pods, [&](job_id e) { return e == id || !is_here(r.facts.quota, e); });
      q.elastic_pods.push_back(id);
    }
    enter(q, r, unit_kind<n>::of(*session_, r), rank_of(r));
    if (!r.facts.elastic) q.to_come += where_[id].to_come = to_come(r);
  }
  void enter(queue& q, const record& r, const unit_kind<n>& kind, const unit_rank& rank) {
    const auto [at, number] = insert(q, r, kind, rank);
    where_[r.facts.id] = {number, r.ticket, false, r.facts.quota, at, rank};
  }
  /// Returns the number of its kind and that of its stay.
  std::pair<std::size_t, std::uint64_t> insert(queue& q, const record& r, const unit_kind<n>& kind,
                                               const unit_rank& rank) {
    auto at = detail::find_if(q.kinds.begin(), q.kinds.end(), [&](const pending_kind& k) {
      return k.request_class == r.request_class && k.preemptible == r.preemptible &&
             k.elastic == r.facts.elastic && k.may_preempt == r.may_preempt() && k.kind == kind &&
             k.request == r.facts.request;
    });
    if (at == q.kinds.end()) {
      at = q.kinds.insert(at, pending_kind{r.request_class, r.preemptible, r.facts.elastic, r.may_preempt(),
                                           kind, r.facts.request});
    }
    const stay s{rank, unit_id::of(r), ++stays_, now_};
    // Usually the last.
    auto place = at->stays.end();
    if (!at->stays.empty() && s.rank < at->stays.back().rank) place = first_from(at->stays, s.rank);
    at->first = std::min(at->first, static_cast<std::size_t>(place - at->stays.begin()));
    at->stays.insert(place, s);
    ++at->version;
    ++q.version;
    return {static_cast<std::size_t>(at - q.kinds.begin()), s.number};
  }
  void end_stay(pending_kind& k, stay& s, quota_id x, std::size_t kind) {
    s.left = now_;
    ++k.gone;
    ++queues_[x.index()].version;
    if (!std::exchange(k.to_sweep, true)) to_sweep_.push_back({x, kind});
  }
  void leave(job_id id, std::uint32_t ticket) {
    last_stay* const known = where_.find(id);
    if (known == nullptr) return;
    last_stay& last = *known;
    if (last.gone || last.ticket != ticket) return;
    last.gone = true;
    queues_[last.quota.index()].to_come -= last.to_come;
    pending_kind& k = queues_[last.quota.index()].kinds[last.kind];
    auto at = first_from(k.stays, last.rank);
    while (at->number != last.number) ++at;
    end_stay(k, *at, last.quota, last.kind);
  }
  /// The rank of an elastic pod depends on how many pods of its job run, its kind on how many more there may
  /// be.
  void renew_elastic(quota_id x) {
    queue& q = queues_[x.index()];
    for (std::size_t i = 0; i < q.elastic_pods.size(); ++i) {
      const job_id id = q.elastic_pods[i];
      if (!is_here(x, id)) continue;
      const record& r = session_->jobs().at(id);
      if (!r.facts.elastic) continue;
      const unit_rank rank = rank_of(r);
      const auto kind = unit_kind<n>::of(*session_, r);
      const last_stay& last = where_[id];
      const pending_kind& k = q.kinds[last.kind];
      const auto at = first_from(k.stays, rank);
      if (k.kind == kind && at != k.stays.end() && at->rank == rank && at->number == last.number) continue;
      leave(id, last.ticket);
      enter(q, r, kind, rank);
    }
  }
  void sweep(pending_kind& k) {
    k.to_sweep = false;
    while (k.first < k.stays.size() && !k.stays[k.first].was_there(now_)) ++k.first;
    if (k.gone <= 16 || k.gone <= k.stays.size() / 2) return;
    erase_if(k.stays, [&](const stay& s) { return !s.was_there(now_); });
    k.gone = k.first = 0;
    ++k.version;
  }

  /// Drops kinds with no pending unit, once they may be as many as the others.
  void forget_kinds(queue& q) {
    if (q.kinds.size() < q.most_kinds) return;
    erase_if(q.kinds, [](const pending_kind& k) { return k.gone == k.stays.size(); });
    for (std::size_t k = 0; k < q.kinds.size(); ++k) {
      for (const stay& s : q.kinds[k].stays) {
        // Extra units have no place of their own.
        if (s.was_there(now_) && !s.id.is_extra()) where_[s.id.job()].kind = k;
      }
    }
    q.most_kinds = std::max(least_kinds, 2 * q.kinds.size());
  }

  Session* session_ = nullptr;
  vector<queue> queues_;
  by_job<last_stay> where_;
  vector<std::pair<quota_id, std::size_t>> to_sweep_;
  std::uint64_t stays_ = 0;
  moment now_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
