// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/kai/detail/cycle_state.hpp>
#include <allot/systems/kai/detail/fair_reclaim.hpp>
#include <allot/systems/kai/detail/job_walk.hpp>
#include <allot/systems/kai/detail/lazy_tournament.hpp>
#include <allot/systems/kai/detail/saturation_order.hpp>
#include <allot/systems/kai/detail/scenario_solver.hpp>
#include <allot/systems/kai/detail/scheduling_signatures.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

template <class Session, class Policies, class Walk = detail::job_walk<Session>>
class action_cycle;

/// The parts of a scheduler that runs in actions.
struct kai_policies {
  template <class Session>
  using cycle = action_cycle<Session, kai_policies>;

  /// The order of the jobs within a quota.
  [[no_unique_address]] by_settings jobs{};
  /// Non-preemptible jobs never use more than what their quotas deserve.
  capacity_kind not_preemptible = capacity_kind::guaranteed;
  /// How much past usage counts when the surplus is divided, in thousandths. 0: not at all.
  std::int64_t k = 0;
  /// The time after which past usage counts half; 0: all usage in the window counts alike.
  instant half_life = 0;
  /// How far back usage counts.
  instant window = 604'800;
  /// After what time the shares are divided again though nothing has happened, if past usage counts; at least
  /// 1.
  instant period = 1;
  /// In thousandths, at least 1000: see `fair_reclaim`.
  std::int64_t saturation_multiplier = 1000;
  /// Whether the parts of GPUs that a gang requests are added as KAI does: see `fair_reclaim::may_reclaim`.
  bool float_sums = true;
  /// How many jobs of one quota each action tries; 0: all.
  std::size_t queue_depth = 0;
  /// How many jobs a consolidation may move (plus one, see `victims_queue`); 0 turns it off.
  std::size_t most_moved = 16;
  /// Whose minimum runtime protects a job from jobs of other quotas.
  runtime_source reclaim_protection = runtime_source::common_ancestor;
  /// A job that can never fit stays in the queue and counts in the shares like any other.
  [[nodiscard]] static constexpr bool keeps_what_is_too_large() noexcept { return true; }
  /// Further pods of unlike ones come so that their sets keep their proportions, and go the same way.
  [[nodiscard]] static constexpr set_growth growth() noexcept { return set_growth::by_minimum; }
  /// The unit to which fair shares are rounded, by dimension, in milli: 1000 is a whole GPU.
  std::array<std::int64_t, 16> units = [] {
    std::array<std::int64_t, 16> all{};
    all.fill(1000);
    return all;
  }();
};

/// One cycle of KAI-Scheduler v0.13 per step: allocate, consolidation, reclaim, preempt, all with the fair
/// shares as of the beginning of the step.
///
/// Each action visits the pending jobs once. In *allocate*, a job that fits limits and nodes starts; one that
/// fits only once evicted jobs have left is pipelined. The rest may then be served by moving running jobs
/// elsewhere (*consolidation*), by taking from other quotas (*reclaim*) or from lower priorities of their own
/// (*preempt*); they are pipelined and their victims evicted. An action skips a job that is not easier to
/// serve than one that has failed in it.
///
/// Nothing is assumed from one step to the next: a pipelined job stays in its queue, is announced in the plan
/// when it is decided, and may find its place taken when the victims have left.
///
/// A step in an unchanged world costs O(1). But if past usage counts, shares change with time: where nothing
/// has changed for a `period`, the next step is a whole cycle. While no job is pending or no job holds
/// anything, it can change no decision, and wakes no host.
template <class Session, class Policies, class Walk>
class action_cycle {
 public:
  static constexpr std::size_t n = Session::n;

  explicit action_cycle(const Policies& policies)
      : policies_(policies),
        state_(policies.k > 0, {policies.half_life, policies.window}),
        solver_(policies.saturation_multiplier) {}

  /// Starts over on the session's tree.
  void reset(Session& session) {
    bind(session);
    state_.reset();
    solver_.reset();
    turn_.reset(session.tree());
    queues_.assign(session.tree().slots(), queue{});
    was_reset_ = true;
  }

  void run(Session& session) {
    bind(session);
    const bool changed = state_.follow();
    const bool is_new = changed || session.queues().must_requeue() || was_reset_;
    if (!is_new && !(counts_past() && session.now() >= next_division())) return;
    if (counts_past()) state_.usage.advance(session, state_.capacity());
    divide();
    was_reset_ = false;
    session.requeue_inadmissible();
    state_.begin(Walk::takes_shortcuts);
    allocate();
    if (policies_.most_moved != 0 && state_.places.has_nodes()) {
      solve_in_turn({detail::action_kind::consolidation, policies_.most_moved, {}});
    }
    solve_in_turn({detail::action_kind::reclaim, 0, policies_.reclaim_protection});
    solve_in_turn({detail::action_kind::preempt, 0, {}});
    note_pending();
    state_.end();
  }

  /// The fair share of x with all below it, as of the last division.
  [[nodiscard]] resources<n> entitled(quota_id x) const { return state_.accounts.fair_share(x); }

  /// Whether the pending job was announced: if what it waits for was taken from a job that the same cycle had
  /// admitted, it starts in the next.
  [[nodiscard]] bool has_announced(const Session& session, job_id id) const {
    return state_.announced.contains(id, session.jobs().at(id).ticket);
  }
  /// When shares may have changed with time, and decisions with them: see `waking_cycle`. O(quotas).
  [[nodiscard]] std::optional<instant> wakes_at(const Session& session) const {
    if (!counts_past() || was_reset_ || !may_take(session)) return std::nullopt;
    return next_division();
  }
  /// Whether quotas may have a `preempt_after`.
  [[nodiscard]] static constexpr bool delays_preemption() noexcept { return true; }
  /// What it remembers: see `resumable_cycle`.
  void rebase(instant by) { state_.usage.rebase(by); }
  [[nodiscard]] cycle_memory memory(const Session& session) const {
    cycle_memory m;
    for (const quota_id x : session.tree().top_down()) {
      session.jobs().for_each_waiting(x, [&](job_id id) {
        if (has_announced(session, id)) m.announced.push_back(id);
      });
    }
    detail::sort(m.announced.begin(), m.announced.end());
    if (counts_past()) m.past_usage = state_.usage.save();
    m.is_at_rest = !was_reset_;
    return m;
  }
  /// Continues from that; see `resumable_cycle`.
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) {
    bind(session);
    for (const job_id id : m.announced) {
      if (session.jobs().contains(id) && session.jobs().at(id).state == job_state::pending) {
        state_.announced.add(session.jobs().at(id));
      }
    }
    const bool keeps_usage =
        counts_past() ? state_.usage.restore(session.tree(), m.past_usage, ids) : m.past_usage.empty();
    static_cast<void>(state_.follow());
    was_reset_ = !m.is_at_rest;
    // As of the last time that it did: what has passed since is for the next one.
    if (m.is_at_rest) divide();
    return keeps_usage;
  }

  /// Explains what stops the pending job: the lowest quota on its path whose limit or, for non-preemptible
  /// jobs, whose deserved amount does not allow it; else too little total capacity, if it is known; else its
  /// place. In the last two, jobs being evicted count until they have gone.
  void explain(Session& session, typename Session::plan_type::pending_job& p) {
    bind(session);
    const record& r = session.jobs().at(p.id);
    p.placement.reset();
    p.binding = first_bound(r, r.facts.request, false);
    const auto lacks = [&](const resources<n>& request) { return first_bound(r, request, true); };
    p.out_of_reach = Session::books_type::least_lacking(r, lacks, p.out_of_reach_request);
    if (!p.binding) p.placement = session.books().places.why_not(r.pod_request);
    p.reason = p.binding ? pending_reason::quota : pending_reason::placement;
    // A limit binds, whoever leaves.
    if (!r.may_preempt() && (!p.binding || p.binding->kind == bound::capacity))
      p.reason = pending_reason::preempts_later;
    if (!session.jobs().nominated().leaving().empty()) find_departures(p);
  }

 private:
  using state_type = detail::cycle_state<Session>;
  using record = typename Session::record;
  using waiting_unit = typename state_type::waiting_unit;
  using pending_kind = typename Walk::pending_kind;
  using kind_type = detail::unit_kind<n>;

  struct queue {
    Walk walk;
    /// The equivalence classes that failed in this action.
    vector<class_number> failed;
    detail::failed_units<n> hardest;
  };

  /// The session may have moved since the last call of the scheduler, and so may this.
  void bind(Session& session) {
    session_ = &session;
    state_.bind(session);
    solver_.bind(session, state_);
  }
  [[nodiscard]] bool counts_past() const noexcept { return policies_.k > 0; }
  /// When past usage is to be looked at again, though nothing has changed.
  [[nodiscard]] instant next_division() const { return later(state_.usage.now(), policies_.period); }
  /// Whether other shares could let a pending job take something: all that fits what is free was tried.
  [[nodiscard]] static bool may_take(const Session& session) {
    const auto all = session.tree().top_down();
    const auto waits = [&](quota_id x) { return session.queues().waiting(x) > 0; };
    if (!detail::any_of(all.begin(), all.end(), waits)) return false;
    for (std::size_t d = 0; d < n; ++d) {
      if (session.books().allocated_by_all(d) > quantity{}) return true;
    }
    return false;
  }
  /// The first bound on the job's path that its request exceeds; if `is_alone`, with nothing in use.
  [[nodiscard]] std::optional<shortfall> first_bound(const record& r, const resources<n>& request,
                                                     bool is_alone) const {
    const auto& accounts = state_.accounts;
    std::optional<shortfall> first;
    const auto bind = [&](quota_id at, std::size_t d, bound kind, quantity most, quantity in_use) {
      const quantity used = is_alone ? quantity{} : in_use;
      if (first || request[d] <= quantity{} || used + request[d] <= most) return;
      first = shortfall{at, d, kind, used + request[d] - most};
    };
    quota_id root = r.facts.quota;
    for (quota_id a = root; a; a = session_->tree().parent(a)) {
      root = a;
      for (std::size_t d = 0; d < n; ++d) {
        bind(a, d, bound::borrow_limit, accounts.limit(a)[d], accounts.allocated(a)[d]);
        if (r.facts.in != capacity_kind::guaranteed) continue;
        bind(a, d, bound::guarantee, accounts.deserved(a)[d], accounts.guaranteed(a)[d]);
      }
    }
    for (std::size_t d = 0; d < n; ++d) {
      bind(root, d, bound::capacity, known_capacity(d), session_->books().allocated_by_all(d));
    }
    return first;
  }
  /// The total capacity; unlimited if only the nodes know it.
  [[nodiscard]] quantity known_capacity(std::size_t d) const {
    const bool is_known = detail::cycle_places<Session>::knows_capacity ||
                          !detail::placement_or_default::has_nodes(session_->books().places);
    return is_known ? state_.accounts.capacity()[d] : quantity::unlimited();
  }
  /// Which evictions are in the way of the job: those that count in the capacity that it lacks or, if there
  /// is enough, those for jobs that would take it if they had their turn first.
  void find_departures(typename Session::plan_type::pending_job& p) {
    const detail::in_the_way<Session> seen{*session_};
    const auto request = [&](job_id id, std::size_t d) { return session_->jobs().at(id).facts.request[d]; };
    if (p.binding) {
      if (p.binding->kind != bound::capacity) return;
      for (const auto& d : session_->jobs().nominated().leaving()) {
        const quantity gained = request(d.job, p.binding->dimension);
        if (gained > quantity{}) seen.note_leaving(p.departures, d, gained);
      }
      return;
    }
    exact_sum<n> then;
    for (std::size_t d = 0; d < n; ++d) then.add(d, session_->books().allocated_by_all(d));
    const auto is_announced = [&](job_id id) { return has_announced(*session_, id); };
    seen.for_each_claimed(p, is_announced,
                          [&](const auto& d, bool) { then -= session_->jobs().at(d.job).facts.request; });
    seen.for_each_claimed(p, is_announced, [&](const auto& d, bool is_first) {
      if (!is_first || p.departures) return;
      then += session_->jobs().at(d.beneficiary).facts.request;
      for (const std::size_t k : state_.accounts.counted()) {
        const bool is_short = then.amount(k) + request(p.id, k) > known_capacity(k);
        if (request(p.id, k) > quantity{} && is_short && !p.departures)
          seen.note_leaving(p.departures, d, {});
      }
    });
  }
  [[nodiscard]] auto division_options() const {
    typename whole_unit_division<n>::options o;
    o.k = policies_.k;
    for (std::size_t d = 0; d < n; ++d) o.unit[d] = d < policies_.units.size() ? policies_.units[d] : 1000;
    return o;
  }

  /// Divides by what is requested now, and by past usage as it was last looked at.
  void divide() {
    const resources<n> capacity = state_.capacity();
    if (counts_past()) {
      state_.accounts.divide(capacity, state_.usage.parts(*session_), division_options());
    } else {
      state_.accounts.divide(capacity, {}, division_options());
    }
  }

  // Actions.

  void allocate() {
    held_.clear();
    in_turn([](const pending_kind&) { return true; },
            [](quota_id, const queue& q, const pending_kind& k) { return has_failed(q, k.request_class); },
            [&](const record& r) { return start(r); });
  }
  /// Returns what of the job is pending now because it has started.
  std::optional<waiting_unit> start(const record& r) {
    std::optional<waiting_unit> grown;
    const detail::unit_id unit = detail::unit_id::of(r);
    queue& q = queues_[r.facts.quota.index()];
    if (!unit.is_extra() && has_failed(q, r.request_class)) return grown;
    state_.places.expect(r);
    const auto starts = [&] {
      const resources<n> least = state_.least_charge(r, r.facts.request);
      if (!state_.accounts.within_limits(r.facts.quota, least, r.facts.in)) return false;
      const auto where = state_.places.find_allowed_place(r, least);
      if (!where) return false;
      // The session can't start an extra pod: it waits until the next cycle.
      if (!unit.is_extra() && state_.places.is_free_now(*where, least)) {
        state_.admit(unit.job(), *where, grown);
      } else {
        state_.pipeline(r, state_.places.wait_there(r, *where));
        state_.announce(r, session_->plan().evictions.size());
        grown = state_.extras.add_next(r);
      }
      return true;
    };
    if (works_with_some_flavors(r, starts) || unit.is_extra()) return grown;
    q.failed.push_back(r.request_class);
    held_.push_back(unit.job());
    return grown;
  }

  /// Whether `works()` with one of the choices of flavors that the unit accepts, best first. KAI knows none:
  /// a job of which the first does not work is as if it had been submitted once more with the next.
  template <class Works>
  [[nodiscard]] bool works_with_some_flavors([[maybe_unused]] const record& r, const Works& works) {
    if constexpr (Session::has_flavors) {
      if (!r.menu.empty() && !detail::unit_id::of(r).is_extra()) {
        flavor_pick pick{};
        session_->choose(r, pick);
        bool does = works();
        if (does || !advance(pick, r.menu)) return does;
        do {
          session_->choose(r, pick);
          does = works();
        } while (!does && advance(pick, r.menu));
        if (!does) session_->choose(r, {});
        // That is no change to decide on again.
        state_.follow();
        return does;
      }
    }
    return works();
  }

  /// Serves pending units by moving or evicting running ones, as the action says. Of those that failed, only
  /// easier ones are tried.
  void solve_in_turn(const detail::victims_wanted& wanted) {
    using detail::action_kind;
    const bool moves = wanted.how == action_kind::consolidation;
    not_consolidated_.clear();
    state_.extras.add_all();
    const auto failed = [&](quota_id x) -> auto& {
      return moves ? not_consolidated_ : queues_[x.index()].hardest;
    };
    const resources<n> exactly;
    const auto may_try = [&](quota_id x, const resources<n>& request, const kind_type& kind) {
      return failed(x).is_easier(kind) &&
             (wanted.how != action_kind::reclaim ||
              fair_reclaim<n>::may_reclaim(state_.accounts, x, request, kind.in,
                                           policies_.float_sums ? kind.pod : exactly));
    };
    const auto solves = [&](const record& r) -> bool {
      return works_with_some_flavors(r, [&] {
        const bool is_beyond = wanted.how == action_kind::preempt &&
                               r.facts.in == capacity_kind::guaranteed &&
                               !state_.accounts.within_deserved_of_all(r.facts.quota, r.facts.request);
        return !is_beyond && solver_.solve(r, wanted);
      });
    };
    in_turn([&](const pending_kind& k) { return k.may_preempt && (!moves || k.preemptible); },
            [&](quota_id x, const queue&, const pending_kind& k) { return !may_try(x, k.request, k.kind); },
            [&](const record& r) -> std::optional<waiting_unit> {
              const quota_id x = r.facts.quota;
              const kind_type kind = kind_type::of(*session_, r);
              if (!r.may_preempt() || !may_try(x, r.facts.request, kind)) return std::nullopt;
              if (!solves(r)) {
                failed(x).add(kind);
                return std::nullopt;
              }
              for (const quota_id loser : solver_.losers()) turn_.changed(session_->tree(), loser, key());
              return solver_.grown();
            });
  }

  // Turns.

  /// Calls `visit(record)` once for each pending unit of a kind for which `wanted(kind)`, in the order in
  /// which quotas and jobs take turns; a unit that it returns is pending from then on. For units of which
  /// `is_hopeless(quota, queue, kind)` a visit would change nothing: they keep their place in the order and
  /// are passed many at a time. The action ends when only such units are left.
  template <class Wanted, class IsHopeless, class Visit>
  void in_turn(Wanted wanted, IsHopeless is_hopeless, Visit visit) {
    const quota_tree<n>& tree = session_->tree();
    const std::uint64_t phase = state_.pipelined.begin_phase();
    const auto left_out = [&](detail::unit_id id) { return state_.pipelined.contains_before(id, phase); };
    start_walks(wanted, left_out);
    if (!is_any_hope(is_hopeless)) return;
    turn_.start(tree, key());
    quota_id last;
    // Each turn passes at least one pending unit, and only a decision makes another one pending.
    std::size_t turns_left = 0;
    for (const quota_id x : walking_) turns_left += state_.waiting(x);
    for (; turns_left > 0 && is_any_hope(is_hopeless); --turns_left) {
      const quota_id x = turn_.next(tree, key());
      queue& q = queues_[x.index()];
      const auto kinds = state_.queues.kinds(x);
      const auto stops = [&](std::size_t k) {
        return kinds[k].elastic || !q.walk.has_seen(kinds[k].request) || !is_hopeless(x, q, kinds[k]);
      };
      const auto first = q.walk.first();
      q.walk.take_turn(std::exchange(last, x) == x, turn_.keyed_others_than(x));
      if (first.kind != Walk::no_kind && !stops(first.kind)) {
        q.walk.pass_until(state_.queues, x, stops, left_out);
      } else {
        q.walk.pass(state_.queues, x, left_out);
        if (decides(first.id, x, visit)) {
          last = quota_id::none();
          ++turns_left;
        }
      }
      turn_.passed(tree, x, !q.walk.is_over());
    }
    ALLOT_ASSERT(!is_any_hope(is_hopeless), "turns follow one another and no quota is passed");
  }
  template <class Wanted, class LeftOut>
  void start_walks(Wanted wanted, const LeftOut& left_out) {
    state_.queues.follow(true);
    turn_.clear(session_->tree());
    hopeful_ = 0;
    walking_.clear();
    for (const quota_id x : session_->tree().top_down()) {
      if (state_.waiting(x) == 0 || !state_.is_leaf(x)) continue;
      queue& q = queues_[x.index()];
      q.failed.clear();
      q.hardest.clear();
      static_cast<void>(state_.queues.kinds(x));
      q.walk.start(state_.queues, x, policies_.queue_depth, wanted, left_out);
      if (q.walk.is_over()) continue;
      walking_.push_back(x);
      turn_.enter(x);
    }
  }
  /// Visits the unit, which x has passed, if it is still pending; returns whether anything was decided.
  template <class Visit>
  [[nodiscard]] bool decides(detail::unit_id id, quota_id x, Visit& visit) {
    if (!waits(id, x)) return false;
    const auto before = state_.changes();
    const std::optional<waiting_unit> grown = visit(state_.at(id));
    if (grown) queues_[x.index()].walk.add(*grown);
    return state_.changes() != before;
  }
  /// Whether a unit may be left for which the action could do something. O(kinds of one quota), amortised
  /// over an action in which no job has hope again.
  template <class IsHopeless>
  [[nodiscard]] bool is_any_hope(const IsHopeless& is_hopeless) {
    const auto has_hope = [&](quota_id x) {
      const queue& q = queues_[x.index()];
      const auto kinds = state_.queues.kinds(x);
      return q.walk.has_left([&](std::size_t k) { return kinds[k].elastic || !is_hopeless(x, q, kinds[k]); });
    };
    for (std::size_t hopeless = 0; hopeless < walking_.size(); ++hopeless) {
      if (has_hope(walking_[hopeful_])) return true;
      if (++hopeful_ == walking_.size()) hopeful_ = 0;
    }
    return false;
  }
  /// Evicting a victim also removes its pending pods.
  [[nodiscard]] bool waits(detail::unit_id id, quota_id x) const {
    if (!state_.contains(id) || state_.pipelined.contains(id)) return false;
    const record& r = state_.at(id);
    return r.state == job_state::pending && r.facts.quota == x;
  }
  [[nodiscard]] auto key() const {
    return [this](quota_id x, quota_id of) {
      const queue& q = queues_[of.index()];
      return saturation_standing<n>{state_.accounts, x, q.walk.request(), {}};
    };
  }
  /// Whether a unit with the same request has failed in this action: nothing has become free since.
  [[nodiscard]] static bool has_failed(const queue& q, class_number request_class) {
    return detail::find(q.failed.begin(), q.failed.end(), request_class) != q.failed.end();
  }

  // The plan.

  void note_pending() {
    for (const job_id id : held_) {
      if (!session_->jobs().contains(id) || state_.pipelined.contains(id)) continue;
      const record& r = session_->jobs().at(id);
      if (r.state != job_state::pending) continue;
      session_->plan().pending.push_back({id, r.what, r.facts.quota, pending_reason::quota});
    }
  }

  Policies policies_;
  Session* session_ = nullptr;
  state_type state_;
  detail::scenario_solver<Session, Walk> solver_;
  lazy_tournament<saturation_standing<n>> turn_;
  vector<queue> queues_;
  /// The quotas whose queue the action walks through, and the position of the last that had hope.
  vector<quota_id> walking_;
  std::size_t hopeful_ = 0;
  /// The first unit of each equivalence class and quota that did not start.
  vector<job_id> held_;
  /// The units for which no job could be moved in this cycle, whatever the quota.
  detail::failed_units<n> not_consolidated_;
  bool was_reset_ = true;
};

}  // namespace v0
}  // namespace allot
