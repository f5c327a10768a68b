// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/possible_victims.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/backfill/horizons.hpp>
#include <allot/scheduler/detail/borrow_backoffs.hpp>
#include <allot/scheduler/detail/expected_ends.hpp>
#include <allot/scheduler/detail/foreseen_quotas.hpp>
#include <allot/scheduler/detail/held_places.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/detail/release_schedule.hpp>
#include <allot/scheduler/detail/victim_groups.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The state of the world, twice: what jobs use *now*, evicting ones included, and what decisions assume:
/// evicting jobs gone, nominated ones running. A job starts when both allow it, so capacity on its
/// way to a beneficiary goes to no other job, and no decision takes either over its limits.
template <job_view View, placement Placement>
class books {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using record = job_record<View, Placement>;
  using place = typename Placement::allocation;
  /// Whether the view says when jobs are expected to end.
  static constexpr bool has_expected_ends = estimated_view<View> || time_limited_view<View>;

  books(quota_tree<n> tree, Placement where)
      : places(std::move(where)), allocated_(tree), assumed_(std::move(tree)) {
    resize();
  }

  /// The quotas as the preset sees them, if there is one.
  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return allocated_.tree(); }
  /// What jobs use now, evicting ones included.
  [[nodiscard]] ledger<n>& allocated() noexcept { return allocated_; }
  [[nodiscard]] const ledger<n>& allocated() const noexcept { return allocated_; }
  /// What decisions count on: evicting jobs are gone, nominated ones are there.
  [[nodiscard]] ledger<n>& assumed() noexcept { return assumed_; }
  [[nodiscard]] const ledger<n>& assumed() const noexcept { return assumed_; }
  /// The running and nominated jobs that may be preempted; without the evicting ones. A cycle may follow its
  /// changes.
  [[nodiscard]] const running_index<n>& running() const noexcept { return running_; }
  [[nodiscard]] running_index<n>& running() noexcept { return running_; }
  /// When those that run, and are not evicting, are expected to end, the earliest first; those that overrun
  /// included.
  [[nodiscard]] std::span<const expected_end> ends() const noexcept { return ends_.all(); }
  /// Those of the jobs of x alone, with what each gives back.
  [[nodiscard]] const release_schedule<n>& ends_of(quota_id x) const noexcept { return ends_of_[x.index()]; }
  /// Those that run, and are not evicting, without an expected end, in no particular order.
  [[nodiscard]] std::span<const job_id> open_ended() const noexcept { return open_ended_; }
  /// Until when capacity has become free, since the last call, that was not expected to before; `without_end`
  /// if no end was expected, and the least time if none has become free.
  [[nodiscard]] instant take_freed_until() noexcept { return std::exchange(freed_until_, never); }
  /// The same, to look only; and as it was before a restart.
  [[nodiscard]] instant freed_until() const noexcept { return freed_until_; }
  void restore_freed_until(instant known) noexcept { freed_until_ = known; }

  /// Charges a job, placed at `r.where`, to the assumed usage.
  void charge(const record& r) {
    note_held(r.where);
    assumed_.charge(r.facts.quota, r.facts.request, r.facts.in);
  }
  /// A job that is charged waits for evictions. Others may have what is kept for it, if it may be preempted.
  void nominate(record& r, instant at) {
    r.facts.started = at;
    if (r.may_yield()) may_go(r);
  }
  /// The same at another time than assumed.
  void renominate(record& r, instant at) {
    if (r.may_yield()) stays(r);
    nominate(r, at);
  }
  /// Drops a nominated job that has not started.
  void release_nominated(record& r) {
    assumed_.release(r.facts.quota, r.facts.request, r.facts.in);
    goes(r);
    release_place(r);
  }
  /// The same for one that `make_room` has found.
  void release_found(record& r) { release_place(r); }
  /// Whether no evicting job is still in the way of a nominated job.
  [[nodiscard]] bool ready(const record& r) const {
    return allocated_.fits(r.facts.quota, r.facts.request, r.facts.in) && places.ready(r.where);
  }
  /// Whether there is room for a nominated job once the evicting jobs have gone: not always after the tree
  /// has changed.
  [[nodiscard]] bool has_room(const record& r) const {
    const resources<n> left = assumed_.headroom(r.facts.quota, r.facts.in);
    for (std::size_t d = 0; d < n; ++d) {
      if (left[d] < quantity{} && r.facts.request[d] > quantity{}) return false;
    }
    return true;
  }
  /// Starts a job that is charged.
  void start(record& r, instant at) {
    allocated_.charge(r.facts.quota, r.facts.request, r.facts.in);
    allocated_by_all_ += r.facts.request;
    // Until now no end was expected.
    if (r.state == job_state::nominated) goes(r);
    r.facts.started = at;
    expect_end(r, expected_end_of(r));
    if (r.may_yield()) may_go(r);
  }
  /// The running or nominated job is changed by `change(record)` such that it may be preempted, or no longer.
  template <class Change>
  void protect(record& r, Change change) {
    if (r.may_yield()) stays(r);
    change(r);
    if (r.may_yield()) may_go(r);
  }
  /// The running job, or a pod of one that is evicting, is changed by `change(record)`: all but what it
  /// requests, where, and since when. O(depth + log jobs).
  template <class Change>
  void change(record& r, Change change) {
    const bool runs = r.state == job_state::running;
    const instant end = r.expected_end;
    if (runs) {
      if (r.may_yield()) stays(r);
      forget_end(r);
      assumed_.release(r.facts.quota, r.facts.request, r.facts.in);
    }
    allocated_.release(r.facts.quota, r.facts.request, r.facts.in);
    change(r);
    allocated_.charge(r.facts.quota, r.facts.request, r.facts.in);
    if (!runs) return;
    assumed_.charge(r.facts.quota, r.facts.request, r.facts.in);
    expect_end(r, expected_end_of(r));
    if (r.may_yield()) may_go(r);
    if (r.expected_end < end) record_freed(end);
  }
  /// The running job's pods on failed nodes are placed elsewhere; false if there is no room.
  [[nodiscard]] bool replace_pods(record& r) {
    bool is_replaced = false;
    // clang 14 instantiates this for every placement if a host instantiates its scheduler explicitly.
    if constexpr (replacing_placement<Placement>) {
      change(r, [&](record& is) {
        const std::optional<place> at = places.replace(is.where, is.pod_request);
        is_replaced = at.has_value();
        if (!is_replaced) return;
        if constexpr (knows_places) held_.erase(is.where);
        is.where = *at;
        note_held(is.where);
      });
    }
    return is_replaced;
  }
  /// A running job started at another time than assumed.
  void restart(record& r, instant at) {
    if (r.may_yield()) running_.erase(r.facts);
    forget_end(r);
    r.facts.started = at;
    if (r.may_yield()) running_.insert(r.facts);
    expect_end(r, expected_end_of(r));
  }
  /// The running job is expected to end at that time; `without_end`: it is not known when.
  void expect_end(record& r, instant at) {
    if constexpr (has_expected_ends) {
      r.expected_end = at;
      if (at != without_end) {
        horizons_.expect(places, r);
        ends_of_[r.facts.quota.index()].insert({{at, r.facts.id}, r.facts.request});
        return ends_.insert({at, r.facts.id});
      }
      const std::size_t i = r.facts.id.index();
      if (open_ended_at_.size() <= i) open_ended_at_.resize(i + 1);
      open_ended_at_[i] = open_ended_.size();
      open_ended_.push_back(r.facts.id);
    }
  }
  /// The running job is neither in `ends` nor in `open_ended` until it is expected to end again.
  void forget_end(record& r) {
    if constexpr (has_expected_ends) {
      if (r.expected_end != without_end) horizons_.forget(places, r);
      const instant at = std::exchange(r.expected_end, without_end);
      if (at != without_end) {
        ends_of_[r.facts.quota.index()].erase({at, r.facts.id});
        return ends_.erase({at, r.facts.id});
      }
      const job_id last = open_ended_.back();
      const std::size_t spot = open_ended_at_[r.facts.id.index()];
      open_ended_[spot] = last;
      open_ended_at_[last.index()] = spot;
      open_ended_.pop_back();
    }
  }
  /// Capacity has become free until then that was not expected to.
  void record_freed(instant until) noexcept { freed_until_ = std::max(freed_until_, until); }
  /// Starts the eviction of a running job.
  void evict(record& r) {
    assumed_.release(r.facts.quota, r.facts.request, r.facts.in);
    places.vacate(r.where);
    goes(r);
  }
  /// Whether there would be room for the one job although the other one, which is evicting, ran on; see
  /// `could_reoccupy`.
  [[nodiscard]] bool could_stay(const record& evicting, bool any_nominated, const record& other) {
    const auto& v = evicting.facts;
    if (!assumed_.fits(v.quota, v.request, v.in)) return false;
    const savepoint before = assumed_.save();
    const tentative attempt{places};
    assumed_.charge(v.quota, v.request, v.in);
    const bool fits = assumed_.fits(other.facts.quota, other.facts.request, other.facts.in) &&
                      could_reoccupy(evicting, any_nominated) &&
                      allot::could_place(places, other.pod_request);
    assumed_.rollback(before);
    return fits;
  }
  /// Whether the evicting job's place was given to nobody else, in a trial: then it has it again. A placement
  /// that can't tell is asked only if there is nobody it could have been given to.
  [[nodiscard]] bool could_reoccupy(const record& evicting, bool any_nominated) {
    if constexpr (std::same_as<decltype(places.reoccupy(evicting.where)), bool>) {
      return places.reoccupy(evicting.where);
    } else {
      if (any_nominated && placement_or_default::has_nodes(places)) return false;
      places.reoccupy(evicting.where);
      return true;
    }
  }
  /// An evicting job runs on.
  void take_back_eviction(record& r) {
    places.reoccupy(r.where);
    assumed_.charge(r.facts.quota, r.facts.request, r.facts.in);
    expect_end(r, expected_end_of(r));
    if (r.may_yield()) may_go(r);
  }
  /// Removes a running or evicting job that has gone.
  void release(record& r) {
    if (r.state == job_state::running) {
      assumed_.release(r.facts.quota, r.facts.request, r.facts.in);
      goes(r);
    }
    allocated_.release(r.facts.quota, r.facts.request, r.facts.in);
    allocated_by_all_ -= r.facts.request;
    release_place(r);
  }
  /// Whether a job has that place, evicting and nominated ones included, if that can be told.
  [[nodiscard]] bool is_held([[maybe_unused]] const place& at) const {
    if constexpr (knows_places) return held_.contains(at);
    return false;
  }
  /// Whether a job that already runs can be charged without overflow: to its quota's assumed usage, and to
  /// the total of what runs, which bounds every quota's usage.
  [[nodiscard]] bool can_count(quota_id x, const resources<n>& request) const {
    return assumed_.can_count(x, request) && is_valid_request(allocated_by_all_.amount() + request);
  }

  /// Calls `f(ledger&)` with the assumed ledger, returns its result and rolls back its changes.
  template <class F>
  auto suppose(F f) {
    const savepoint before = assumed_.save();
    const auto result = f(assumed_);
    assumed_.rollback(before);
    return result;
  }
  /// What all jobs use together, evicting ones included.
  [[nodiscard]] quantity allocated_by_all(std::size_t d) const { return allocated_by_all_.amount(d); }

  /// How much more of others' capacity the job's quota uses with it than without.
  [[nodiscard]] static resources<n> borrowed_by(const ledger<n>& l, const record& r) {
    resources<n> result;
    const auto owed = [](quantity used, quantity own) { return std::max(quantity{}, used - own); };
    for (std::size_t d = 0; d < n; ++d) {
      const quantity own = std::max(quantity{}, l.supply_of(r.facts.quota, d).own_pool);
      const quantity used = l.own_usage(r.facts.quota, d);
      result[d] = owed(used + r.facts.request[d], own) - owed(used, own);
    }
    return result;
  }

  /// Whether the job would use more than its quota owns, as of what is assumed.
  [[nodiscard]] bool would_borrow(const record& r) const {
    return borrowed_by(assumed_, r) != resources<n>{};
  }

  /// Searches for victims for a job that does not fit. If some are found, and `accept` takes them, they are
  /// no longer assumed, and the job can be placed and assumed; otherwise nothing has changed. While its quota
  /// backs off, the job does not borrow.
  template <class Jobs, class Search, class Accept>
  search_outcome make_room(Jobs& jobs, Search& search, const record& r, const preempt_settings& may,
                           instant now, Accept accept, const borrow_backoffs<n>& backoffs = {}) {
    const beneficiary<n> b{
        r.facts.quota, r.facts.request, r.facts.in, r.facts.priority, r.facts.submitted, may,
        now,           r.facts.id};
    const savepoint in_ledger = assumed_.save();
    auto in_places = places.save();
    // With others gone it does not borrow more.
    const bool is_bound = static_cast<bool>(backoffs.against(assumed_, b.quota, b.request, now));
    trial<Jobs> world{places, jobs, r.pod_request, *this, is_bound ? &r : nullptr, now, &backoffs};
    search_outcome outcome = search.run(assumed_, running_, b, world);
    if (outcome == search_outcome::found && !accept(search.victims())) outcome = search_outcome::impossible;
    if (outcome == search_outcome::found) {
      places.commit(std::move(in_places));
      assumed_.commit(in_ledger);
      for (const victim<n>& v : search.victims()) goes(jobs[v.job.id]);
    } else {
      places.rollback(std::move(in_places));
      assumed_.rollback(in_ledger);
    }
    return outcome;
  }

  /// Searches `may_move` for jobs to restart elsewhere, so that a job that its quota allows finds a place.
  /// Returns that place, with the moved jobs no longer assumed and a place free for each of them; otherwise
  /// nothing has changed.
  template <class Jobs, class Search>
  std::optional<place> move_others(Jobs& jobs, Search& search, const record& r,
                                   std::span<const running_job<n>> may_move) {
    auto before = places.save();
    moving_trial<Jobs> world{{places, jobs, r.pod_request, *this}};
    if (search.run(may_move, world) != search_outcome::found) {
      places.rollback(std::move(before));
      return std::nullopt;
    }
    // With the moved jobs at their new places, or it might be given one of them.
    const std::optional<place> at = places.place(r.pod_request);
    ALLOT_ASSERT(at.has_value(), "the search found a place");
    for (const auto& e : world.elsewhere) places.release(e.second);
    places.commit(std::move(before));
    for (const victim<n>& v : search.moves()) {
      assumed_.release(v.job.quota, v.job.request, v.job.in);
      goes(jobs[v.job.id]);
    }
    return at;
  }

  /// What `lacks(request)` says of the flavors that lack least, whose request is then `of`; none if some lack
  /// nothing.
  template <class Lacks>
  [[nodiscard]] static std::optional<shortfall> least_lacking(const record& r, Lacks lacks,
                                                              resources<n>& of) {
    std::optional<shortfall> least = lacks(of = r.facts.request);
    if (r.menu.empty() || !least) return least;
    flavor_pick pick{};
    do {
      const resources<n> request = r.request_under(pick);
      const std::optional<shortfall> s = lacks(request);
      if (s && s->missing >= least->missing) continue;
      least = s;
      of = request;
    } while (least && advance(pick, r.menu));
    return least;
  }
  /// Records in `p` what blocks a job: its quota, as of that ledger, else the lack of a place. What a cycle
  /// found is kept as the reason.
  void explain(typename plan<View, Placement>::pending_job& p, const record& r, const ledger<n>& by) const {
    p.binding = binding_shortfall(by, r.facts.quota, r.facts.request, r.facts.in);
    if (!p.binding) p.placement = places.why_not(r.pod_request);
    if (p.binding) {
      const auto lacks = [&](const resources<n>& request) {
        return lasting_shortfall(by, r.facts.quota, request, r.facts.in);
      };
      p.out_of_reach = least_lacking(r, lacks, p.out_of_reach_request);
    }
    if (is_found_by_cycle(p.reason)) return;
    p.reason = p.binding ? pending_reason::quota : pending_reason::placement;
  }

  /// All times move by that span, as those of the records do.
  void rebase(instant by) {
    running_.rebase(by);
    ends_.rebase(by);
    for (auto& e : ends_of_) e.rebase(by);
    freed_until_ = moved(freed_until_, by);
    if constexpr (has_expected_ends) {
      horizons_.rebase(by);
      foreseen_.rebase(by);
    }
  }

  /// Precondition: quotas no longer in the tree have no jobs.
  void replace_tree(quota_tree<n> next) {
    allocated_.replace_tree(next);
    assumed_.replace_tree(std::move(next));
    resize();
  }
  /// The same where only specifications change: see `ledger::exchange`.
  void exchange(vector<respecified_quota<n>>& others) {
    vector<respecified_quota<n>> same = others;
    allocated_.exchange(same);
    assumed_.exchange(others);
  }

  /// The changes of quotas that are known to come, if the view says when jobs are expected to end.
  [[nodiscard]] auto& foreseen() noexcept { return foreseen_; }
  [[nodiscard]] const auto& foreseen() const noexcept { return foreseen_; }
  /// When quotas or nodes change next of which that is known.
  [[nodiscard]] instant next_change(instant after) const requires has_expected_ends {
    return std::min(foreseen_.next_change(after), placement_or_default::next_change(places, after));
  }
  /// What will have gone by reserved starts, if the view says when jobs are expected to end.
  [[nodiscard]] auto& horizons() noexcept requires has_expected_ends { return horizons_; }
  /// The room that there is for a job now: see `detail::horizons`. Not within a trial.
  [[nodiscard]] detail::kept_counter_of<Placement>* room_now(const record& r) requires has_expected_ends {
    return horizons_.room_now(places, r.facts.id, r.pod_request);
  }
  /// What counts the room without jobs that might be evicted.
  [[nodiscard]] room_counter_of<Placement>& what_if() noexcept { return what_if_; }

  /// Where jobs run.
  Placement places;

 private:
  static constexpr bool knows_places = revocable_placement<Placement>;
  /// Without nodes there is nothing to count.
  static constexpr bool has_what_if =
      !std::same_as<room_counter_of<Placement>, no_room_counter> && !std::same_as<Placement, no_placement>;
  static constexpr bool counts_groups = grouped_placement_room<room_counter_of<Placement>, Placement>;

  template <class Jobs>
  struct trial {
    Placement& places;
    Jobs& jobs;
    const typename Placement::pod_request& pod_request;
    books& of;
    /// The job, if there may be something that it does not borrow for now.
    const record* bound = nullptr;
    instant now = 0;
    const borrow_backoffs<n>* backoffs = nullptr;

    void take_off(const running_job<n>& v) { places.vacate(jobs[v.id].where); }
    void put_back(const running_job<n>& v) { places.reoccupy(jobs[v.id].where); }
    [[nodiscard]] bool could_place() { return !borrows() && allot::could_place(places, pod_request); }

    /// What the job would borrow is in the ledger, which a what-if is not always told of.
    [[nodiscard]] bool begin_what_if() { return bound == nullptr && of.what_if_.begin(places, pod_request); }
    /// Whether the job would borrow what it does not for now.
    [[nodiscard]] bool borrows() const {
      return bound != nullptr &&
             backoffs->against(of.assumed_, bound->facts.quota, bound->facts.request, now);
    }
    void gone(const running_job<n>& v) { of.what_if_.gone(places, jobs[v.id].where); }
    void back(const running_job<n>& v) { of.what_if_.back(places, jobs[v.id].where); }
    [[nodiscard]] bool helps(const running_job<n>& v) { return of.what_if_.helps(places, jobs[v.id].where); }
    [[nodiscard]] bool would_fit() const { return of.what_if_.fits(0).value_or(false); }

    /// Without a counter there is no answer, so a search does not collect the groups.
    [[nodiscard]] bool might_fit_without(std::span<const possible_victims> these) requires has_what_if {
      if constexpr (counts_groups) {
        vector<std::uint32_t>& groups = of.possible_;
        groups.clear();
        for (const possible_victims& y : these) {
          of.groups_.for_each(y, [&](std::uint32_t group) { groups.push_back(group); });
        }
        return groups.empty() || of.what_if_.might_fit(places, pod_request, groups);
      }
      return true;
    }
  };

  /// Can also place taken-off jobs elsewhere.
  template <class Jobs>
  struct moving_trial {
    trial<Jobs> at_home;
    vector<std::pair<job_id, place>> elsewhere{};

    void take_off(const running_job<n>& v) {
      const auto moved =
          detail::find_if(elsewhere.begin(), elsewhere.end(), [&](const auto& e) { return e.first == v.id; });
      if (moved == elsewhere.end()) return at_home.take_off(v);
      at_home.places.release(moved->second);
      elsewhere.erase(moved);
    }
    void put_back(const running_job<n>& v) { at_home.put_back(v); }
    [[nodiscard]] bool could_place() { return at_home.could_place(); }
    [[nodiscard]] bool place_elsewhere(const running_job<n>& v) {
      const auto at = at_home.places.place(at_home.jobs[v.id].pod_request);
      if (at) elsewhere.emplace_back(v.id, *at);
      return at.has_value();
    }
  };

  void note_held([[maybe_unused]] const place& at) {
    if constexpr (knows_places) {
      // Without nodes all have the same place.
      if (placement_or_default::has_nodes(places)) held_.insert(at);
    }
  }
  void release_place(const record& r) {
    if constexpr (knows_places) held_.erase(r.where);
    places.release(r.where);
  }
  void resize() {
    running_.resize(allocated_.tree().slots());
    groups_.resize(allocated_.tree().slots());
    if constexpr (has_expected_ends) ends_of_.resize(allocated_.tree().slots());
  }
  [[nodiscard]] static instant expected_end_of(const record& r) noexcept {
    return r.estimate == without_end ? without_end : later(r.facts.started, r.estimate);
  }
  /// The job may be preempted.
  void may_go(const record& r) {
    running_.insert(r.facts);
    if constexpr (counts_groups) {
      what_if_.may_go(places, groups_.add(r.facts.quota, r.facts.priority), r.where);
    }
  }
  /// The job may no longer be preempted, but is still at its place.
  void stays(const record& r) {
    running_.erase(r.facts);
    if constexpr (counts_groups) {
      what_if_.may_not_go(places, groups_.remove(r.facts.quota, r.facts.priority), r.where);
    }
  }
  /// The job is being evicted, or is no longer nominated: of such a one no end was expected.
  void goes(record& r) {
    record_freed(r.expected_end);
    if (r.state != job_state::nominated) forget_end(r);
    if (r.may_yield()) stays(r);
  }

  [[no_unique_address]] room_counter_of<Placement> what_if_{};
  ledger<n> allocated_;
  ledger<n> assumed_;
  exact_sum<n> allocated_by_all_{};
  running_index<n> running_;
  expected_ends ends_;
  /// By quota.
  vector<release_schedule<n>> ends_of_;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<has_expected_ends, detail::horizons<View, Placement>, nothing>
      horizons_{};
  [[no_unique_address]] std::conditional_t<has_expected_ends, foreseen_quotas<n>, nothing> foreseen_{};
  /// The places of the jobs that run, leave or are nominated.
  [[no_unique_address]] std::conditional_t<knows_places, held_places<place>, nothing> held_{};
  /// Ids, as a copy has records of its own; and by index of a job, where it is among them.
  vector<job_id> open_ended_;
  vector<std::size_t> open_ended_at_;
  static constexpr instant never = std::numeric_limits<instant>::min();
  instant freed_until_ = never;
  /// The same by group, for placements that count them.
  victim_groups groups_;
  /// The groups of possible victims in a search.
  vector<std::uint32_t> possible_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
