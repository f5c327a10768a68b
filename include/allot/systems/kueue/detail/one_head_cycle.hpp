// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kueue/detail/flavor_assignment.hpp>
#include <allot/systems/kueue/detail/head_memory.hpp>
#include <allot/systems/kueue/detail/nomination.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {

/// Kueue's cycle: one head per quota. Nomination judges each head by itself against current usage: its
/// flavors and its preemption targets. The heads are then processed in the order of `Policies::entry_order`,
/// and each is judged again in view of what earlier heads were claimed:
/// - Others were claimed the same victims: it looks for other victims, with the same flavors; if it fits
///   once the claimed victims are gone, it waits for them. Without `recompute_overlaps` it is passed over.
/// - It no longer fits: it is passed over until the next cycle, in which it goes on with its next flavors.
/// - It needs victims and finds none: unless its quota can always reclaim what it owns, free capacity is kept
///   for it during this cycle, so that no later head borrows it (Kueue #4813).
///
/// Nothing is assumed from one cycle to the next: a job waiting for its victims stays in its queue and is
/// judged again; it stays the head even of a best-effort queue that later jobs would lead (Kueue #7157). A
/// head that can't be admitted becomes inadmissible with its equivalence class, and the next one comes up; in
/// a strict queue it stays the head.
///
/// A step is one cycle; if a cycle decides nothing but brings up other heads, the next follows. Trees in
/// which nothing has changed are skipped: the outcome would be the same.
template <class Session, class Policies>
class one_head_cycle {
 public:
  static constexpr std::size_t n = Session::n;

  explicit one_head_cycle(const Policies& policies)
      : order_(policies.template entry_order<n>()),
        nominations_(policies),
        memory_(policies.preserve_scan_progress),
        recomputes_overlaps_(policies.recompute_overlaps) {}

  /// Starts over on the session's tree.
  void reset(Session& session) {
    const quota_tree<n>& tree = session.tree();
    nominations_.reset(session);
    order_.reset(session.books().allocated());
    after_.emplace(tree);
    memory_.resize(tree.slots());
    root_of_.assign(tree.slots(), quota_id::none());
    members_.assign(tree.slots(), {});
    for (const quota_id x : tree.top_down()) {
      const quota_id p = tree.parent(x);
      root_of_[x.index()] = p ? root_of_[p.index()] : x;
      members_[root_of_[x.index()].index()].push_back(x);
    }
    is_dirty_.assign(tree.slots(), false);
    dirty_.clear();
    waits_for_others_.clear();
    waits_for_others_.reserve(tree.roots().size());
  }

  /// Runs cycles until one decides something or nothing changes any more. A cycle that decided nothing is
  /// followed by another only if a head became inadmissible or went on to its next flavors, both of which
  /// terminate, or if a head stopped waiting for victims or waits for them with other flavors, which each
  /// quota may do once.
  void run(Session& session) {
    cycles_left_ = 2 * session.tree().slots() + 1;
    for (const std::size_t before = decisions(session); decisions(session) == before && cycles_left_ > 0;
         --cycles_left_) {
      const bool must_requeue = session.queues().must_requeue();
      if (must_requeue) {
        session.requeue_inadmissible();
        memory_.forget_cursors();
      }
      session.queues().take_touched([&](quota_id x) { mark(root_of_[x.index()]); });
      if (dirty_.empty() && !must_requeue) return;
      for (const quota_id root : waits_for_others_) mark(root);
      waits_for_others_.clear();
      cycle(session);
    }
    ALLOT_ASSERT(cycles_left_ > 0, "cycles follow one another and come to no end");
  }

  /// Whether the pending job waits for its victims, and so stays the head of its quota.
  [[nodiscard]] bool has_announced(const Session& session, job_id id) const {
    return memory_.is_sticky(session.jobs().at(id).facts.quota, id);
  }
  /// Whether quotas may have a `preempt_after`.
  [[nodiscard]] static constexpr bool delays_preemption() noexcept { return true; }
  /// What it remembers: see `resumable_cycle`.
  [[nodiscard]] cycle_memory memory(const Session& session) const {
    cycle_memory m;
    memory_.save(session, m);
    m.revisited = waits_for_others_;
    m.touched = dirty_;
    return m;
  }
  /// Continues from that; see `resumable_cycle`.
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) {
    session.queues().take_touched([](quota_id) {});
    memory_.resume(session, m);
    for (const quota_id x : m.revisited) {
      if (const quota_id now = quota_now(ids, x)) wait_for_others(root_of_[now.index()]);
    }
    for (const quota_id x : m.touched) {
      if (const quota_id now = quota_now(ids, x)) mark(root_of_[now.index()]);
    }
    return m.past_usage.empty();
  }

 private:
  using entry = cycle_entry<Session>;

  [[nodiscard]] static std::size_t decisions(Session& session) {
    const auto& plan = session.plan();
    return plan.admissions.size() + plan.evictions.size() + plan.nominations.size();
  }
  void mark(quota_id root) {
    if (is_dirty_[root.index()]) return;
    is_dirty_[root.index()] = true;
    dirty_.push_back(root);
  }

  void cycle(Session& session) {
    detail::sort(dirty_.begin(), dirty_.end());
    count_ = 0;
    cycle_roots_.assign(dirty_.begin(), dirty_.end());
    for (const quota_id root : dirty_) {
      is_dirty_[root.index()] = false;
      for (const quota_id x : members_[root.index()]) {
        if (session.queues().waiting(x) == 0) continue;
        if (const job_id id = memory_.head_of(session, x)) add_entry(session, x, root, id);
      }
    }
    dirty_.clear();
    // Discards the changes made by dropping elastic pods: the heads behind them have been seen.
    session.queues().take_touched([](quota_id) {});
    if (count_ == 0) return;
    memory_.begin_cycle();

    ledger<n>& l = session.books().allocated();
    const savepoint before = l.save();
    for (const quota_id root : cycle_roots_) copy_usage(l, root);
    const savepoint after_before = after_->save();
    nominations_.begin(session, *after_);
    claimed_.clear();
    const std::span<entry> entries{entries_.data(), count_};
    for (entry& e : entries) {
      flavor_bounds bounds;
      bounds.from = memory_.cursor_of(e.quota, e.job);
      nominations_.nominate(session, e, bounds);
    }
    processed_.clear();
    order_.for_each(l, entries, [&](std::size_t i) {
      process(session, entries[i]);
      processed_.push_back(i);
    });
    nominations_.end(session);
    after_->rollback(after_before);
    l.rollback(before);
    const std::size_t decided = decisions(session);
    for (const std::size_t i : processed_) apply(session, entries[i]);
    // The jobs in its way may be of another tree, whose changes do not mark its own.
    for (const std::size_t i : processed_) {
      const entry& e = entries[i];
      const bool was_passed_over = e.outcome == entry_outcome::passed_over;
      if (was_passed_over && decisions(session) != decided) mark(e.root);
      if (was_passed_over || e.outcome == entry_outcome::deferred || e.outcome == entry_outcome::preempts) {
        wait_for_others(e.root);
      }
    }
  }
  void wait_for_others(quota_id root) {
    const auto at = std::lower_bound(waits_for_others_.begin(), waits_for_others_.end(), root);
    if (at == waits_for_others_.end() || *at != root) waits_for_others_.insert(at, root);
  }
  void add_entry(Session& session, quota_id x, quota_id root, job_id id) {
    if (count_ == entries_.size()) entries_.emplace_back();
    entry& e = entries_[count_++];
    const auto& facts = session.jobs().at(id).facts;
    e.quota = x;
    e.root = root;
    e.job = id;
    e.priority = facts.priority;
    e.submitted = facts.submitted;
    e.order = facts.order;
    e.outcome = entry_outcome::no_fit;
  }

  void process(Session& session, entry& e) {
    ledger<n>& l = session.books().allocated();
    if (recomputes_overlaps_ && overlaps(e)) {
      nominations_.nominate_again(session, e);
      if (e.chosen.mode == fit_mode::fit) e.outcome = entry_outcome::deferred;
    }
    // Usage still includes the victims, and the heads admitted earlier in this cycle.
    if (e.chosen.mode != fit_mode::no_fit && !l.can_count(e.quota, e.chosen.request)) {
      e.outcome = entry_outcome::passed_over;
      return;
    }
    if (e.outcome == entry_outcome::deferred) {
      charge(l, e.quota, e.chosen.request);
      return;
    }
    if (e.chosen.mode == fit_mode::no_fit) {
      e.outcome = entry_outcome::no_fit;
      return;
    }
    if (e.chosen.mode == fit_mode::preempt && e.victims.empty()) {
      if (session.queues().settings(e.quota).preempt.reclaim != preempt_reclaim::any) keep_free(l, e);
      e.outcome = entry_outcome::no_candidates;
      return;
    }
    if (overlaps(e) || !fits_without(e) || !nominations_.take_place(session, e)) {
      e.outcome = entry_outcome::passed_over;
      return;
    }
    charge(l, e.quota, e.chosen.request);
    for (const victim<n>& v : e.victims) {
      claimed_.push_back(v);
      nominations_.claim(v);
      after_->release(v.job.quota, v.job.request, v.job.in);
      nominations_.record_change(v.job.quota);
    }
    e.outcome = e.victims.empty() ? entry_outcome::admitted : entry_outcome::preempts;
  }

  /// Whether it would have to preempt, and has not waited long enough.
  [[nodiscard]] static bool is_patient(const Session& session, const entry& e) {
    return e.outcome == entry_outcome::no_candidates && !session.jobs().at(e.job).may_preempt();
  }
  [[nodiscard]] bool overlaps(const entry& e) const {
    return detail::any_of(e.victims.begin(), e.victims.end(),
                          [&](const victim<n>& v) { return nominations_.is_claimed(v.job.id); });
  }
  /// Whether the entry fits once its victims, and those claimed to others, are gone.
  [[nodiscard]] bool fits_without(const entry& e) {
    const savepoint s = after_->save();
    for (const victim<n>& v : e.victims) after_->release(v.job.quota, v.job.request, v.job.in);
    const bool fits = after_->fits(e.quota, e.chosen.request);
    after_->rollback(s);
    return fits;
  }
  void charge(ledger<n>& l, quota_id x, const resources<n>& request) {
    l.charge(x, request);
    after_->charge(x, request);
    nominations_.record_change(x);
  }
  void copy_usage(const ledger<n>& l, quota_id root) {
    for (const quota_id x : members_[root.index()]) after_->copy_usage(l, x);
  }
  /// Keeps free what the entry could use now: up to its borrowing limit if it would borrow, else what is left
  /// of its own quota. As in Kueue, a quota that is beyond its borrowing limit then counts, for the rest of
  /// the cycle, as if it kept to it, while the quotas above still count all that it uses.
  void keep_free(ledger<n>& l, const entry& e) {
    resources<n> kept;
    resources<n> beyond;
    for (std::size_t d = 0; d < n; ++d) {
      if (e.chosen.request[d] == quantity{}) continue;
      const quantity own_left = l.balance(e.quota, d);
      const quantity limit = e.chosen.borrows > 0 ? own_left + l.supply_of(e.quota, d).borrow : own_left;
      kept[d] = std::max(quantity{}, std::min(e.chosen.request[d], limit));
      if (e.chosen.borrows > 0) beyond[d] = std::max(quantity{}, -limit);
    }
    charge(l, e.quota, kept);
    if (beyond == resources<n>{}) return;
    l.discount(e.quota, beyond);
    // What the quotas above then count of a victim depends on whether it goes before or after.
    const auto below = [&](const victim<n>& v) {
      return l.tree().common_ancestor(v.job.quota, e.quota) == e.quota;
    };
    for (const victim<n>& v : claimed_) {
      if (below(v)) after_->charge(v.job.quota, v.job.request, v.job.in);
    }
    after_->discount(e.quota, beyond);
    for (const victim<n>& v : claimed_) {
      if (below(v)) after_->release(v.job.quota, v.job.request, v.job.in);
    }
    nominations_.record_change(e.quota);
  }

  void apply(Session& session, entry& e) {
    switch (e.outcome) {
      case entry_outcome::admitted:
        memory_.admitted(e.quota, e.job);
        nominations_.choose(session, e);
        session.admit(e.job, e.where);
        return;
      case entry_outcome::preempts: {
        nominations_.choose(session, e);
        const std::size_t first = session.plan().evictions.size();
        for (const victim<n>& v : e.victims) {
          if (session.jobs().at(v.job.id).state == job_state::running) session.evict(v.job.id, e.job, v.how);
        }
        if (session.plan().evictions.size() > first) session.announce(e.job, first);
        memory_.make_sticky(e.quota, e.job);
        return;
      }
      case entry_outcome::deferred:
        memory_.make_sticky(e.quota, e.job);
        return;
      case entry_outcome::passed_over:
        if (memory_.drop_sticky(e.quota)) mark(e.root);
        if (e.chosen.has_untried() && memory_.goes_on_when_passed_over(e.quota, e.job, e.chosen.next)) {
          mark(e.root);
          ++cycles_left_;
          return;
        }
        memory_.forget_cursor(e.quota, e.job);
        return;
      case entry_outcome::no_fit:
      case entry_outcome::no_candidates:
        if (memory_.drop_sticky(e.quota)) mark(e.root);
        if (e.chosen.has_untried() && memory_.go_on_from(e.quota, e.job, e.chosen.next)) {
          mark(e.root);
          ++cycles_left_;
          return;
        }
        memory_.forget_cursor(e.quota, e.job);
        if (session.first_of(e.quota) != e.job) return;
        session.mark_inadmissible(
            e.quota, is_patient(session, e) ? pending_reason::preempts_later : pending_reason::quota);
        ++cycles_left_;
        memory_.block(e.quota, e.job);
        return;
    }
  }

  typename Policies::template entry_order_type<n> order_;
  nominations<Session, Policies> nominations_;
  head_memory<Session> memory_;
  bool recomputes_overlaps_;
  /// The ledger of this cycle as if all claimed victims were gone.
  std::optional<ledger<n>> after_;
  /// The roots of the trees that this cycle is about.
  vector<quota_id> cycle_roots_;
  vector<quota_id> root_of_;
  /// By root: all quotas of its tree.
  vector<vector<quota_id>> members_;
  /// Roots of trees in which something has changed.
  vector<quota_id> dirty_;
  vector<bool> is_dirty_;
  /// Roots of trees whose heads are tried again after any change, sorted and unique.
  vector<quota_id> waits_for_others_;
  /// The first `count_` belong to this cycle; the rest only keep their memory allocated.
  vector<entry> entries_;
  std::size_t count_ = 0;
  /// How many more cycles may follow in this step.
  std::size_t cycles_left_ = 0;
  vector<std::size_t> processed_;
  /// The victims of the entries decided so far.
  vector<victim<n>> claimed_;
};

}  // namespace v0
}  // namespace allot
