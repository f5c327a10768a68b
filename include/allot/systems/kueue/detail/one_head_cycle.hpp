// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kueue/detail/borrowing_heads.hpp>
#include <allot/systems/kueue/detail/flavor_assignment.hpp>
#include <allot/systems/kueue/detail/head_memory.hpp>
#include <allot/systems/kueue/detail/nomination.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

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
/// which nothing has changed are skipped: the outcome would be the same. So are heads that only borrow
/// (`borrowing_heads`) while they do not fit. What a cycle costs is therefore O(log quotas) for each head
/// that is judged: those that fit, and those that need preemption or have several flavors.
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
    for (const quota_id x : tree.top_down()) {
      const quota_id p = tree.parent(x);
      root_of_[x.index()] = p ? root_of_[p.index()] : x;
    }
    judged_.assign(tree.slots(), {});
    is_judged_.assign(tree.slots(), false);
    borrowing_.reset(tree);
    for (std::size_t i = 0; i < is_aside_.size(); ++i) {
      if (is_aside_[i] && tree.contains(quota_id{i})) session.take_up(quota_id{i}, false);
    }
    is_aside_.assign(tree.slots(), false);
    entering_.clear();
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
    entered_.clear();
    run_cycles(session);
    erase_if(entered_, [&](quota_id x) { return !borrowing_.contains(x); });
    detail::sort(entered_.begin(), entered_.end(),
                 [&](quota_id x, quota_id y) { return goes_first(borrowing_.of(x), borrowing_.of(y)); });
    for (const quota_id x : entered_) session.list_pending(borrowing_.of(x).job, pending_reason::quota);
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
    memory_.resume(session, m);
    session.queues().take_touched([&](quota_id x) { renew(session, x, false); });
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
  void run_cycles(Session& session) {
    cycles_left_ = 2 * session.tree().slots() + 1;
    for (const std::size_t before = decisions(session); decisions(session) == before && cycles_left_ > 0;
         --cycles_left_) {
      const bool must_requeue = session.queues().must_requeue();
      if (must_requeue) {
        session.requeue_inadmissible();
        memory_.forget_cursors();
      }
      session.queues().take_touched([&](quota_id x) {
        mark(root_of_[x.index()]);
        renew(session, x, must_requeue);
      });
      if (dirty_.empty() && !must_requeue) return;
      for (const quota_id root : waits_for_others_) mark(root);
      waits_for_others_.clear();
      cycle(session);
    }
    ALLOT_ASSERT(cycles_left_ > 0, "cycles follow one another and come to no end");
  }
  void mark(quota_id root) {
    if (is_dirty_[root.index()]) return;
    is_dirty_[root.index()] = true;
    dirty_.push_back(root);
  }

  /// The queue or the usage of x has changed; or its jobs may be tried again, as may all others.
  void renew(Session& session, quota_id x, bool tries_again) {
    const ledger<n>& l = session.books().allocated();
    for (quota_id a = x; a; a = l.tree().parent(a)) after_->copy_usage(l, a);
    if (is_aside_[x.index()]) {
      session.take_up(x, tries_again || l.fits(x, borrowing_.of(x).request));
      is_aside_[x.index()] = false;
    }
    borrowing_.leave(l.tree(), x);
    if (session.queues().waiting(x) == 0 || enter_borrowing(session, x)) return;
    judge_from_now_on(x);
  }
  /// Those that have come to the heads that only borrow, and did not fit in this cycle, are inadmissible with
  /// their whole queues.
  void set_aside(Session& session) {
    erase_if(entering_, [&](quota_id x) {
      if (!borrowing_.contains(x)) return true;
      const auto& h = borrowing_.of(x);
      if (!is_in_cycle(h.root) || session.books().allocated().fits(x, h.request)) return false;
      session.set_aside(x);
      is_aside_[x.index()] = true;
      return true;
    });
  }
  void judge_from_now_on(quota_id x) {
    if (is_judged_[x.index()]) return;
    is_judged_[x.index()] = true;
    judged_[root_of_[x.index()].index()].push_back(x);
  }
  /// Whether the head of x is one of those that only borrow, and no job behind it could fit where it does
  /// not. It is not judged then unless it fits.
  [[nodiscard]] bool enter_borrowing(Session& session, quota_id x) {
    if (session.queues().settings(x).head == queue_head::strict || memory_.has_sticky(session, x))
      return false;
    const std::optional<job_id> first = session.first_of(x);
    if (!first) return false;
    const auto& r = session.jobs().at(*first);
    if (!nominations_.only_borrows(session, x, r)) return false;
    const resources<n>& request = r.facts.request;
    bool is_least = true;
    session.queues().for_each_open_class(x, [&](const auto& other) {
      is_least = is_least && other.menu.empty();
      for (std::size_t d = 0; d < n; ++d) is_least = is_least && request[d] <= other.request[d];
    });
    if (!is_least) return false;
    const quota_id root = root_of_[x.index()];
    const ledger<n>& l = session.books().allocated();
    borrowing_.enter(l, {head_of(session, x, *first), request, nominations_.level_of(root),
                         order_.standing_of(l, x, request), r.request_class.index()});
    entered_.push_back(x);
    entering_.push_back(x);
    return true;
  }

  void cycle(Session& session) {
    detail::sort(dirty_.begin(), dirty_.end());
    count_ = 0;
    cycle_roots_.assign(dirty_.begin(), dirty_.end());
    bool any_borrow = false;
    for (const quota_id root : dirty_) {
      is_dirty_[root.index()] = false;
      any_borrow = any_borrow || borrowing_.any(root);
      add_entries(session, root);
    }
    dirty_.clear();
    // Discards the changes made by dropping elastic pods: the heads behind them have been seen.
    session.queues().take_touched([](quota_id) {});
    if (count_ == 0 && !any_borrow) return;
    memory_.begin_cycle();

    ledger<n>& l = session.books().allocated();
    const savepoint before = l.save();
    const savepoint after_before = after_->save();
    nominations_.begin(session, *after_);
    claimed_.clear();
    taken_.clear();
    count_of_late_ = 0;
    if (any_borrow) judge_unplaceable(session);
    for (std::size_t i = 0; i < count_; ++i) {
      entry& e = entries_[i];
      flavor_bounds bounds;
      bounds.from = memory_.cursor_of(e.quota, e.job);
      nominations_.nominate(session, e, bounds);
    }
    if (any_borrow) take_beside_victims(session);
    const std::span<entry> entries{entries_.data(), count_};
    processed_.clear();
    const auto decide_on = [&](std::size_t i) {
      process(session, entry_at(i));
      processed_.push_back(i);
    };
    order_.for_each(l, entries, cycle_roots_, borrowing_, decide_on, [&](const auto& next) {
      take(session, next, late_, count_of_late_);
      decide_on(count_ + count_of_late_ - 1);
    });
    nominations_.end(session);
    after_->rollback(after_before);
    l.rollback(before);
    set_aside(session);
    // Those for which others left no room.
    left_over_.clear();
    for (const quota_id root : cycle_roots_) {
      if (borrowing_.first_that_fits(l, root) != nullptr) left_over_.push_back(root);
    }
    const std::size_t decided = decisions(session);
    for (const std::size_t i : processed_) apply(session, entry_at(i));
    for (const quota_id x : taken_) renew(session, x, true);
    for (const quota_id root : left_over_) {
      if (decisions(session) != decided) mark(root);
      wait_for_others(root);
    }
    // The jobs in its way may be of another tree, whose changes do not mark its own.
    for (const std::size_t i : processed_) {
      const entry& e = entry_at(i);
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
  /// Adds those of the tree that are judged. A quota without one is not looked at until it is renewed.
  void add_entries(Session& session, quota_id root) {
    vector<quota_id>& all = judged_[root.index()];
    for (std::size_t i = 0; i < all.size();) {
      const quota_id x = all[i];
      const bool is_other = session.queues().waiting(x) == 0 || borrowing_.contains(x);
      const job_id id = is_other ? job_id::none() : memory_.head_of(session, x);
      if (id) {
        add_entry(head_of(session, x, id), entries_, count_);
        ++i;
      } else {
        is_judged_[x.index()] = false;
        all[i] = all.back();
        all.pop_back();
      }
    }
  }
  /// Heads without a place are judged, for in their turn something is kept free for them. A look at every
  /// head of a class that has none.
  void judge_unplaceable(Session& session) {
    const ledger<n>& l = session.books().allocated();
    if (detail::all_of(cycle_roots_.begin(), cycle_roots_.end(),
                       [&](quota_id root) { return borrowing_.first_that_fits(l, root) == nullptr; })) {
      return;
    }
    borrowing_.for_each_unplaceable([&](job_id id) { return nominations_.has_place_for(session, id); },
                                    [&](quota_id x) {
                                      const auto& h = borrowing_.of(x);
                                      if (!is_in_cycle(h.root) || !l.fits(x, h.request)) return;
                                      if (is_aside_[x.index()]) session.take_up(x, true);
                                      is_aside_[x.index()] = false;
                                      add_entry(h, entries_, count_);
                                      borrowing_.leave(l.tree(), x);
                                      judge_from_now_on(x);
                                    });
  }
  [[nodiscard]] bool is_in_cycle(quota_id root) const {
    return std::binary_search(cycle_roots_.begin(), cycle_roots_.end(), root);
  }
  /// One more entry; all keep their memory from cycle to cycle.
  entry& add_entry(const cycle_head& h, vector<entry>& all, std::size_t& count) {
    if (count == all.size()) all.emplace_back();
    entry& e = all[count++];
    static_cast<cycle_head&>(e) = h;
    e.outcome = entry_outcome::no_fit;
    return e;
  }
  /// What is freed for one may make room for another in its turn, if it fits now: then all those are entries.
  void take_beside_victims(Session& session) {
    if (detail::all_of(entries_.data(), entries_.data() + count_,
                       [](const entry& e) { return e.victims.empty(); })) {
      return;
    }
    for (const quota_id root : cycle_roots_) {
      while (const auto* h = borrowing_.first_that_fits(session.books().allocated(), root)) {
        take(session, *h, entries_, count_);
      }
    }
  }
  /// The entry of a head that only borrows, and fits.
  void take(Session& session, const auto& h, vector<entry>& all, std::size_t& count) {
    entry& e = add_entry(h, all, count);
    e.chosen = {};
    e.chosen.mode = fit_mode::fit;
    e.chosen.request = h.request;
    e.chosen.borrows = h.borrows;
    e.victims.clear();
    e.pods = session.jobs().at(h.job).facts.pods;
    taken_.push_back(h.quota);
    borrowing_.leave(session.tree(), h.quota);
  }
  [[nodiscard]] entry& entry_at(std::size_t i) { return i < count_ ? entries_[i] : late_[i - count_]; }
  [[nodiscard]] cycle_head head_of(const Session& session, quota_id x, job_id id) const {
    const auto& facts = session.jobs().at(id).facts;
    return {x, root_of_[x.index()], id, facts.priority, facts.submitted, facts.order};
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
      if (!always_reclaims(session.queues().settings(e.quota).preempt)) keep_free(l, e);
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
  /// By root: the quotas of its tree whose heads are judged in each cycle, and by quota whether it is one.
  /// The heads of others only borrow, or their jobs are all inadmissible.
  vector<vector<quota_id>> judged_;
  vector<bool> is_judged_;
  detail::borrowing_heads<n, typename Policies::template entry_order_type<n>::standing> borrowing_;
  /// Those that joined them in this step; and those of them that have not been found inadmissible.
  vector<quota_id> entered_;
  vector<quota_id> entering_;
  /// By quota: whether its jobs are set aside, so that no release makes the cycle look at them.
  vector<bool> is_aside_;
  /// Roots of trees in which something has changed.
  vector<quota_id> dirty_;
  vector<bool> is_dirty_;
  /// Roots of trees whose heads are tried again after any change, sorted and unique.
  vector<quota_id> waits_for_others_;
  /// The first `count_` belong to this cycle; the rest only keep their memory allocated.
  vector<entry> entries_;
  std::size_t count_ = 0;
  /// Those of heads that only borrow and fitted in their turn.
  vector<entry> late_;
  std::size_t count_of_late_ = 0;
  /// The quotas of all that only borrow and were taken into the cycle.
  vector<quota_id> taken_;
  /// The roots of trees with such heads that fitted before others came.
  vector<quota_id> left_over_;
  /// How many more cycles may follow in this step.
  std::size_t cycles_left_ = 0;
  vector<std::size_t> processed_;
  /// The victims of the entries decided so far.
  vector<victim<n>> claimed_;
};

}  // namespace v0
}  // namespace allot
