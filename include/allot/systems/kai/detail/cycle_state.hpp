// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/detail/by_job.hpp>
#include <allot/systems/kai/detail/job_queues.hpp>
#include <allot/systems/kai/detail/node_placement.hpp>
#include <allot/systems/kai/detail/past_usage.hpp>
#include <allot/systems/kai/detail/running_pods.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/placements.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// What the actions of a cycle read and change besides the session: the shares of the quotas, the queues of
/// pending units and potential victims, and the *pipelined* units: decided on in this cycle, waiting for
/// evicted jobs to leave, and forgotten at its end.
template <class Session>
class cycle_state {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using pod_request = typename Session::pod_request;
  using places_type = typename Session::placement_type;
  using on_nodes = node_placement<places_type>;

  using waiting_unit = typename job_queues<Session>::waiting_unit;
  using running_unit = typename running_pods<Session>::running_unit;

  share_accounts<n> accounts;
  job_queues<Session> queues;
  running_pods<Session> running;
  past_usage<Session> usage;

  /// Recent usage is tracked only if it counts.
  cycle_state(bool past_counts, const history_settings& history)
      : usage(history), past_counts_(past_counts) {}

  /// The session may have moved since the last call of the scheduler.
  void bind(Session& session) {
    session_ = &session;
    queues.bind(session);
    running.bind(session);
    usage.bind(session);
    accounts.follow(session.tree());
  }
  void reset() {
    accounts.reset(session_->tree());
    queues.reset();
    running.reset();
    usage.reset();
    leaving_ = {};
    changed_at_.assign(session_->tree().slots(), ++last_change_);
  }
  /// Takes note of changes; returns whether there were any.
  bool follow() {
    bool any = false;
    session_->queues().take_touched([&](quota_id x) {
      if (!std::exchange(any, true)) queues.follow(false);
      queues.forget(x);
      running.forget(x);
      record_change(x);
      const ledger<n>& assumed = session_->books().assumed();
      const resources<n> guaranteed = assumed.own_usage(x, capacity_kind::guaranteed);
      if (past_counts_) usage.note(x);
      accounts.set_own(x, assumed.own_usage(x), guaranteed, queues.asked(x));
    });
    return any;
  }
  /// Begins a cycle. If it `counts`, nodes that know what is left are asked only where the sums allow it.
  void begin(bool counts) {
    running.follow();
    pipelined_.clear();
    gone_pods_.clear();
    cycle_ = ++phase_;
    admitted_.clear();
    leaving_ = {};
    without_place_ = {};
    for (const job_id id : session_->jobs().evicting()) leaving_ += session_->jobs().at(id).facts.request;
    has_nodes_ = placement_or_default::has_nodes(session_->books().places);
    is_bounded_ = knows_room() && (!has_nodes_ || (counts && !running.charges_places()));
  }
  /// Ends the cycle: a pipelined unit is pending like any other.
  void end() {
    for (std::size_t i = pipelined_.size(); i-- > 0;) {
      const pipelined_unit& p = pipelined_[i];
      if (p.where) session_->books().places.release(*p.where);
      if (!p.is_undone) accounts.release(p.quota, p.request, p.in);
      record_change(p.quota);
    }
    pipelined_.clear();
    for (const place& p : lost_) session_->books().places.release(p);
    lost_.clear();
    for (const extra_pod& e : extras()) queues.remove_extra(e.r, e.rank);
    extras_ = 0;
    for (const forgotten_charge& c : forgotten_) accounts.charge(c.quota, c.request, c.in);
    forgotten_.clear();
  }
  /// The elastic pod, which is about to be evicted, does not count once more: KAI forgets the charge of a pod
  /// twice if it evicts it twice, and the pod itself. Until the end of the cycle.
  void forget_charge(const record& r) {
    forgotten_.push_back({r.facts.core, r.facts.quota, charge_of(r), r.facts.in});
    accounts.release(r.facts.quota, forgotten_.back().request, r.facts.in);
  }
  [[nodiscard]] bool has_forgotten() const noexcept { return !forgotten_.empty(); }
  /// Whether as many pods of the job are active as were forgotten: KAI takes it for a job without any.
  [[nodiscard]] bool seems_inactive(job_id core) const {
    std::uint32_t forgotten = 0;
    for (const forgotten_charge& c : forgotten_) forgotten += c.core == core ? 1U : 0U;
    return forgotten != 0 && active_pods(session_->jobs().at(core)) == forgotten;
  }

  static constexpr bool charges_by_place = charging_view<typename Session::view_type, places_type>;
  static constexpr bool knows_capacity = capacity_view<typename Session::view_type>;
  /// The capacity the view reports; where it is unknown, `least_capacity`.
  [[nodiscard]] resources<n> capacity() const {
    resources<n> sum = least_capacity(session_->tree());
    if constexpr (knows_capacity) {
      const resources<n> known = session_->view().capacity();
      for (std::size_t d = 0; d < n; ++d) {
        if (!known[d].is_unlimited()) sum[d] = known[d];
      }
    }
    return sum;
  }
  [[nodiscard]] bool has_nodes() const noexcept { return has_nodes_; }
  /// Only leaves take part: a job of an inner quota neither starts nor is preempted (KAI v0.13).
  [[nodiscard]] bool is_leaf(quota_id x) const { return session_->tree().children(x).empty(); }

  /// Begins the next action (phase) of the cycle; returns its number.
  std::uint64_t next_phase() noexcept { return ++phase_; }
  /// The number of decisions.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] bool is_pipelined(unit_id id) const {
    if (id.is_extra()) return extra(id).phase != 0;
    const mark* const m = marks_.find(id.job());
    return m != nullptr && m->phase >= cycle_;
  }
  /// Whether it was pipelined when that phase began.
  [[nodiscard]] bool is_pipelined_before(unit_id id, std::uint64_t phase) const {
    return is_pipelined(id) && (id.is_extra() ? extra(id).phase : marks_.find(id.job())->phase) < phase;
  }

  // Extra pods: the next pods of elastic jobs of which some are pipelined. The session knows none of them,
  // because it lets one pod wait at a time, and none before the job runs. They may be pipelined, then yield
  // or move like any other, and are forgotten at the end of the cycle.

  [[nodiscard]] const record& at(unit_id id) const {
    return id.is_extra() ? extra(id).r : session_->jobs().at(id.job());
  }
  /// Whether the unit is there; of an extra pod, whether it is pipelined or the job that it belongs to has
  /// its minimum.
  [[nodiscard]] bool contains(unit_id id) const {
    if (!id.is_extra()) return session_->jobs().contains(id.job());
    if (stands_pipelined(id)) return true;
    return is_active(extra(id).r.facts.core);
  }
  /// How many units of x wait, extra pods included; perhaps more.
  [[nodiscard]] std::size_t waiting(quota_id x) const { return session_->queues().waiting(x) + extras_; }
  /// Lets the next pod of the unit's job wait if there is one and no other waits.
  std::optional<waiting_unit> add_extra([[maybe_unused]] const record& r) {
    if constexpr (elastic_view<typename Session::view_type>) {
      const job_id id = r.facts.elastic ? r.facts.core : r.facts.id;
      if (!is_active(id)) return std::nullopt;
      const record& core = session_->jobs().at(id);
      std::uint32_t left = core.pods_to_come;
      std::uint32_t active = 0;
      for (const job_id pod : core.elastic_pods) {
        const job_state s = session_->jobs().at(pod).state;
        const bool is_served = s == job_state::running || stands_pipelined(pod);
        active += is_served ? 1U : 0U;
        if (s == job_state::pending && !is_pipelined(pod)) return std::nullopt;
      }
      for (const extra_pod& e : extras()) {
        if (e.r.facts.core != id) continue;
        if (e.phase == 0) return std::nullopt;
        active += stands_pipelined(unit_id::of(e.r)) ? 1U : 0U;
        left -= std::min(left, std::uint32_t{1});
      }
      for (const job_id pod_of : gone_pods_) left -= pod_of == id ? std::min(left, std::uint32_t{1}) : 0U;
      if (left == 0) return std::nullopt;
      return add_extra(core, left, active);
    }
    return std::nullopt;
  }
  /// The same for all jobs of which some pods are pipelined.
  void add_extras() {
    for (std::size_t i = 0; i < pipelined_.size(); ++i) {
      if (pipelined_[i].is_undone || !contains(pipelined_[i].id)) continue;
      static_cast<void>(add_extra(at(pipelined_[i].id)));
    }
  }
  /// Whether the job has pods beyond its minimum.
  [[nodiscard]] bool is_elastic(const record& core) const {
    return !core.elastic_pods.empty() ||
           detail::any_of(extras().begin(), extras().end(),
                          [&](const extra_pod& e) { return e.r.facts.core == core.facts.id; });
  }
  /// How many pods of the job run or are pipelined.
  [[nodiscard]] std::uint32_t active_pods(const record& core) const {
    std::uint32_t active = is_active(core.facts.id) ? core.facts.pods : 0;
    for (const job_id pod : core.elastic_pods) active += is_active(pod) ? 1U : 0U;
    for (const extra_pod& e : extras()) {
      if (e.r.facts.core == core.facts.id) active += stands_pipelined(unit_id::of(e.r)) ? 1U : 0U;
    }
    return active;
  }
  /// In whose name evictions for the unit are announced.
  [[nodiscard]] job_id announced_as(const record& r) const {
    if (!unit_id::of(r).is_extra()) return r.facts.id;
    const record& core = session_->jobs().at(r.facts.core);
    for (const job_id pod : core.elastic_pods) {
      if (session_->jobs().at(pod).state == job_state::pending) return pod;
    }
    return core.facts.id;
  }
  /// Whether it is pipelined and has not been evicted since.
  [[nodiscard]] bool stands_pipelined(unit_id id) const { return find_pipelined(id) != nullptr; }
  /// Calls `visit(id)` for each pipelined unit of x that may be evicted, in the order of the decisions.
  template <class Visit>
  void for_each_pipelined(quota_id x, Visit visit) const {
    for (const pipelined_unit& p : pipelined_) {
      if (may_evict(p, x)) visit(p.id);
    }
  }
  [[nodiscard]] bool has_pipelined(quota_id x) const {
    return detail::any_of(pipelined_.begin(), pipelined_.end(),
                          [&](const pipelined_unit& p) { return may_evict(p, x); });
  }
  /// Numbers the changes of what runs or is pipelined; that of the last in x.
  [[nodiscard]] std::uint64_t changed_at(quota_id x) const { return changed_at_[x.index()]; }
  /// How many pods of a pipelined unit run where they were and have not been evicted.
  [[nodiscard]] std::uint32_t pods_that_stay(const record& r) const {
    if (r.state != job_state::evicting || evicted_pods_.find(r.facts.id) == nullptr) return 0;
    return r.facts.pods - count(r, pods_that_left(r));
  }
  [[nodiscard]] bool was_admitted(job_id id) const {
    return detail::find(admitted_.begin(), admitted_.end(), id) != admitted_.end();
  }

  // Places.

  [[nodiscard]] on_nodes placement() const { return on_nodes{session_->books().places}; }
  /// The unit may be decided on now. What it is charged by its place may be more than what it takes there: so
  /// the nodes alone know what is left.
  void expect(const record& r) {
    if (has_nodes_ && is_charged_by_place(*session_, r)) is_bounded_ = false;
  }
  /// Whether there is enough of everything, regardless of nodes.
  [[nodiscard]] bool has_room(const resources<n>& request) const {
    return fits_in([&](std::size_t d) { return accounts.total(d); }, request);
  }
  /// The same after more has been taken.
  [[nodiscard]] bool has_room(const resources<n>& request, const resources<n>& more) const {
    return fits_in([&](std::size_t d) { return accounts.total(d) + more[d]; }, request);
  }
  /// What is left by what is charged: jobs are moved for no job that requests more (KAI v0.13).
  [[nodiscard]] resources<n> room_as_charged() const {
    return knows_room() ? accounts.capacity() - accounts.total() : resources<n>{quantity::unlimited()};
  }
  /// The most that may be left.
  [[nodiscard]] resources<n> room() const {
    return is_bounded_ ? room_as_charged() : resources<n>{quantity::unlimited()};
  }
  /// The same, and what units that were pipelined without a place do not take.
  [[nodiscard]] resources<n> most_room() const { return room() + without_place_; }
  /// A place where it can start at once if there is one; for pods that are pipelined, wherever they could.
  [[nodiscard]] std::optional<place> find_place(const pod_request& r, const resources<n>& request,
                                                bool waits = false) {
    if (!has_room(request)) return std::nullopt;
    return placement().place(r, waits, no_candidates_);
  }
  /// Whether the unit ran and was told to move in this cycle.
  [[nodiscard]] bool was_moved(const record& r) const {
    const unit_id unit = unit_id::of(r);
    return is_pipelined(unit) && pods_that_left(r) != 0 && stands_pipelined(unit);
  }
  /// Whether a unit that ran was told to move in this cycle, so that more may be given than there is.
  /// O(units that are pipelined).
  [[nodiscard]] bool may_overbook() const {
    return detail::any_of(pipelined_.begin(), pipelined_.end(), [&](const pipelined_unit& p) {
      return !p.is_undone && contains(p.id) && pods_that_left(at(p.id)) != 0;
    });
  }
  /// Determines which nodes are no candidates for the victims and the beneficiary of a search that begins:
  /// see `node_placement`. Only nodes for which units wait can be such, and only `with_fractions`
  /// does it matter. O(their pods x devices).
  void begin_search(bool with_fractions) {
    never_.clear();
    if (!with_fractions) return;
    waits_on_.clear();
    for (const pipelined_unit& p : pipelined_) {
      if (p.where && !p.is_undone) add_nodes_at(*p.where, waits_on_);
    }
    sort_once(waits_on_);
    for (const std::size_t node : waits_on_) {
      if (!placement().is_candidate(node)) never_.push_back(node);
    }
  }
  /// Whether it is a fraction that waits alone on its device, so that a search may strand it: see
  /// `undo_search`. O(units that are pipelined).
  [[nodiscard]] bool may_be_stranded(unit_id id) const {
    if (!is_pipelined(id)) return false;
    const pipelined_unit* const p = find_pipelined(id);
    return p != nullptr && p->where && (p->is_stranded || placement().is_alone(*p->where));
  }
  /// The same of any unit.
  [[nodiscard]] bool may_strand() const {
    return detail::any_of(pipelined_.begin(), pipelined_.end(), [&](const pipelined_unit& p) {
      return !p.is_undone && p.where && placement().is_alone(*p.where);
    });
  }
  /// A search is undone in which the unit was evicted, and if it moved, got a place on these nodes. A
  /// fraction that waits alone on its device is stranded if it was to get another one of the same node (as in
  /// KAI v0.13, until the end of the cycle): evicting it again frees no device, and each time that is undone,
  /// its node loses one.
  void undo_search(unit_id id, std::span<const std::size_t> moved_to) {
    for (pipelined_unit& p : pipelined_) {
      if (p.id != id || p.is_undone || !p.where) continue;
      if (p.is_stranded) {
        placement().fill_unused(at(id).pod_request, *p.where, lost_);
      } else if (!moved_to.empty() && placement().is_alone(*p.where)) {
        waits_on_.clear();
        add_nodes_at(*p.where, waits_on_);
        p.is_stranded = waits_on_.front() == moved_to.front();
      }
    }
  }
  /// The unit leaves its place, in a trial.
  void leave(const record& r) {
    const pipelined_unit* const p = find_pipelined(unit_id::of(r));
    if (p == nullptr) {
      session_->books().places.vacate(r.where);
    } else if (p->where && !p->is_stranded) {
      session_->books().places.vacate(*p->where);
    }
  }
  /// From now on, until `end_trial`, only candidates are considered. Those with victims have to be added.
  void begin_trial() { no_candidates_ = never_; }
  void add_candidates_of(const record& victim) {
    if (no_candidates_.empty()) return;
    waits_on_.clear();
    add_nodes_of(victim, waits_on_);
    erase_if(no_candidates_, [&](std::size_t node) { return contains(waits_on_, node); });
  }
  void end_trial() {
    no_candidates_.clear();
    overbooked_ = {};
  }
  /// The same if the limits of its quotas allow what it is charged there.
  [[nodiscard]] std::optional<place> find_allowed_place(const record& r, const resources<n>& least) {
    const std::optional<place> where = find_place(r.pod_request, least);
    if (!where || !is_charged_by_place(*session_, r)) return where;
    const resources<n> charge = charge_at(r, r.facts.request, where);
    if (accounts.within_limits(r.facts.quota, charge, r.facts.in)) return where;
    session_->books().places.release(*where);
    return std::nullopt;
  }
  /// A place for a unit that is pipelined, on the given nodes if any: they had room for its pods.
  [[nodiscard]] std::optional<place> take_place_to_wait(const record& r, std::span<const std::size_t> nodes) {
    if (!nodes.empty()) {
      if (const auto at = placement().place_to_wait_on(r.pod_request, nodes)) return at;
    }
    return find_place(r.pod_request, least_charge(r, r.facts.request), true);
  }
  /// A unit placed for an immediate start has to wait: its alternative stays available to others.
  [[nodiscard]] std::optional<place> wait_there(const record& r, const place& where) {
    if (!placement().knows_nodes()) return where;
    waits_on_.clear();
    add_nodes_at(where, waits_on_);
    session_->books().places.release(where);
    return take_place_to_wait(r, waits_on_);
  }
  /// Where an evicted unit would be placed again.
  struct way_back {
    /// Its place, unless its pods are placed one by one.
    std::optional<place> at;
    /// How many of its pods would then have moved.
    std::uint32_t moved = 0;
  };
  /// Places an evicted unit again, in a trial; `nodes` receives the nodes of its pods.
  [[nodiscard]] std::optional<way_back> find_place_back(const record& r, vector<std::size_t>& nodes) {
    const resources<n> least = least_charge(r, r.facts.request);
    const std::optional<place> stood = place_of(r);
    const pod_set moved = stood && stands_pipelined(unit_id::of(r)) ? pods_that_left(r) : 0;
    const bool moves_again = moved != 0 && placement().is_of_whole_pods(r.pod_request);
    // Several pods that were told to move may be given the same place.
    if (!has_room(moves_again ? request_of_pods(r, 1) : least)) return std::nullopt;
    way_back way;
    if (stood) {
      if (moves_again) {
        const auto back =
            placement().place_moved(r.pod_request, *stood, r.where, moved, no_candidates_, nodes);
        if (!back) return std::nullopt;
        if (back->without_place != 0) overbooked_ += request_of_pods(r, back->without_place);
        return way_back{{}, back->moved};
      }
      const auto at = placement().place_back(r.pod_request, *stood, no_candidates_);
      if (!at) return std::nullopt;
      way = {at->at, at->moved};
    } else {
      way.at = find_place(r.pod_request, least, true);
      if (!way.at) return std::nullopt;
    }
    add_nodes_at(*way.at, nodes);
    return way;
  }
  /// Whether no job being evicted still holds the place or its capacity.
  [[nodiscard]] bool is_free_now(const place& where, const resources<n>& request) const {
    const auto for_each_waiting = [&](const auto& visit) {
      for (const pipelined_unit& p : pipelined_) {
        if (p.where && !p.is_undone) visit(*p.where);
      }
    };
    if (!placement().is_ready(where, for_each_waiting)) return false;
    const resources<n> waiting = pipelined_total();
    return fits_in([&](std::size_t d) { return accounts.total(d) - waiting[d] + leaving_[d]; }, request);
  }
  /// Where the unit is placed or, if pipelined, will be; nothing if it is pipelined without a place.
  [[nodiscard]] std::optional<place> place_of(const record& r) const {
    const pipelined_unit* p = find_pipelined(unit_id::of(r));
    return p != nullptr ? p->where : std::optional<place>{r.where};
  }
  /// What a running or pipelined unit is charged.
  [[nodiscard]] resources<n> charge_of(const record& r) const {
    const pipelined_unit* p = find_pipelined(unit_id::of(r));
    return p != nullptr ? p->request : r.facts.request;
  }
  /// The nodes of a job and its elastic pods, each once; without nodes, a single number for all.
  void nodes_of(job_id core, vector<std::size_t>& nodes) const {
    nodes.clear();
    add_nodes_of(session_->jobs().at(core), nodes);
    for (const job_id s : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(s).state == job_state::running || stands_pipelined(s)) {
        add_nodes_of(session_->jobs().at(s), nodes);
      }
    }
    for (const extra_pod& e : extras()) {
      if (e.r.facts.core == core && stands_pipelined(unit_id::of(e.r))) add_nodes_of(e.r, nodes);
    }
    sort_once(nodes);
  }
  static void sort_once(vector<std::size_t>& nodes) {
    detail::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  void add_nodes_of(const record& r, vector<std::size_t>& nodes) const {
    if (const std::optional<place> where = place_of(r)) {
      add_nodes_at(*where, nodes);
    } else if (!has_nodes_) {
      nodes.push_back(0);
    }
  }
  void add_nodes_at(const place& where, vector<std::size_t>& nodes) const {
    placement().for_each_node(where, [&](std::size_t node) { nodes.push_back(node); });
  }

  // Decisions.

  /// Admits a pending unit at a place taken for it. `grown` receives its job's surplus pending now.
  void admit(job_id id, const place& where, std::optional<waiting_unit>& grown) {
    const record& r = session_->jobs().at(id);
    const job_id core = r.facts.elastic ? r.facts.core : id;
    ++changes_;
    const bool was_announced = is_announced(id, r.ticket);
    session_->admit(id, where);
    // If its admission is taken back, it goes on waiting as it did.
    if (was_announced) announced_[id] = r.ticket;
    admitted_.push_back(id);
    follow();
    grown.reset();
    for (const job_id s : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(s).state == job_state::pending) grown = queues.unit_of(session_->jobs().at(s));
    }
  }
  /// What the unit is charged there for what it requests.
  [[nodiscard]] resources<n> charge_at(const record& r, const resources<n>& request,
                                       const std::optional<place>& where) const {
    if constexpr (charges_by_place) {
      if (where && session_->view().is_charged_by_place(r.what)) {
        return session_->view().request_at(r.what, request, session_->books().places, *where);
      }
    }
    return request;
  }
  /// The least that the request may turn out to be charged: nothing, where that depends on its place.
  [[nodiscard]] resources<n> least_charge(const record& r, const resources<n>& request) const {
    resources<n> least = request;
    if (!is_charged_by_place(*session_, r)) return least;
    for (std::size_t d = 0; d < n; ++d) least[d] = {};
    return least;
  }
  /// Pipelines the unit: until the end of the cycle it is to have that place once evicted jobs have left.
  void pipeline(const record& r, const std::optional<place>& where) {
    ++changes_;
    const resources<n> request = charge_at(r, r.facts.request, where);
    accounts.charge(r.facts.quota, request, r.facts.in);
    record_change(r.facts.quota);
    pipelined_.push_back({unit_id::of(r), r.facts.quota, request, r.facts.in, where});
    if (has_nodes_ && !where) without_place_ += request;
    if (const unit_id unit = unit_id::of(r); unit.is_extra()) {
      extra_[unit.number()].phase = phase_;
      return;
    }
    marks_[r.facts.id] = {phase_, pipelined_.size() - 1};
  }
  /// The pending unit was announced before it was adopted.
  void adopt_announced(const record& r) { announced_[r.facts.id] = r.ticket; }
  /// Records in the plan that the unit waits for others to leave: the evictions from `first` on, if any;
  /// otherwise, that it waits at all is recorded once per stay in the queue.
  void announce(const record& r, std::size_t first) {
    if (unit_id::of(r).is_extra()) {
      if (session_->plan().evictions.size() > first) session_->announce(announced_as(r), first);
      return;
    }
    const bool is_known = std::exchange(announced_[r.facts.id], r.ticket) == r.ticket;
    if (!is_known || session_->plan().evictions.size() > first) session_->announce(r.facts.id, first);
  }
  /// Whether that was recorded for a stay in the queue.
  [[nodiscard]] bool is_announced(job_id id, std::uint32_t ticket) const {
    const std::uint32_t* const known = announced_.find(id);
    return known != nullptr && *known == ticket;
  }
  /// Evicts a running or pipelined unit. One admitted in this very cycle has not started: it is pending
  /// again. A pipelined one is undone and waits for the next cycle; the victims that were to make room for it
  /// then do so for the beneficiary. `moves`: how many of its pods are placed elsewhere, on these nodes; 0:
  /// it is evicted.
  void evict(unit_id unit, job_id beneficiary, relation how, std::uint32_t moves = 0,
             std::span<const std::size_t> nodes = {}) {
    ++changes_;
    const record& r = at(unit);
    const pod_set moved = moves == 0 ? ~pod_set{0} : moving_pods(r, moves, nodes);
    if (r.facts.elastic && !unit.is_extra()) gone_pods_.push_back(r.facts.core);
    if (stands_pipelined(unit)) return undo_pipelined(r, beneficiary, moves > 0, moved);
    const job_id id = unit.job();
    if (was_admitted(id)) {
      const victim<n> v{r.facts, how};
      const bool was_announced = is_announced(id, r.ticket);
      const job_id core = r.facts.elastic ? r.facts.core : id;
      erase(admitted_, id);
      session_->evict_found(std::span{&v, 1}, beneficiary);
      if (was_announced) goes_on_waiting(id, core);
    } else {
      leaving_ += r.facts.request;
      if (!r.facts.elastic) {
        for (const job_id s : r.elastic_pods) {
          if (session_->jobs().at(s).state != job_state::running || was_admitted(s)) continue;
          leaving_ += session_->jobs().at(s).facts.request;
          gone_pods_.push_back(id);
        }
      }
      session_->evict(id, beneficiary, how);
      // Of a gang that moves, only some pods may have to.
      if (moves > 0) session_->plan().evictions.back().pods -= r.facts.pods - count(r, moved);
      evicted_pods_[id] = moved;
    }
    follow();
  }
  [[nodiscard]] static pod_request pod_request_of(const record& r, std::uint32_t pods) {
    pod_request request = r.pod_request;
    if constexpr (podded_request<pod_request>) {
      if (pods != pods_of_unit(r)) request.pods = pods;
    }
    return request;
  }

 private:
  struct pipelined_unit {
    unit_id id;
    quota_id quota;
    resources<n> request;
    capacity_kind in = capacity_kind::any;
    std::optional<place> where;
    /// It was evicted again: it holds its place like a leaving job, and counts nowhere else.
    bool is_undone = false;
    /// See `undo_search`.
    bool is_stranded = false;
  };
  /// Whether the unit is of x and may be evicted.
  [[nodiscard]] bool may_evict(const pipelined_unit& p, quota_id x) const {
    return p.quota == x && !p.is_undone && contains(p.id) && at(p.id).preemptible;
  }
  [[nodiscard]] const pipelined_unit* find_pipelined(unit_id id) const {
    // Most are not: that much is told where it is asked.
    return is_pipelined(id) ? look_for_pipelined(id) : nullptr;
  }
  [[nodiscard]] const pipelined_unit* look_for_pipelined(unit_id id) const {
    for (std::size_t i = id.is_extra() ? 0 : marks_.find(id.job())->at; i < pipelined_.size(); ++i) {
      const pipelined_unit& p = pipelined_[i];
      if (p.id == id && !p.is_undone) return &p;
    }
    return nullptr;
  }

  void record_change(quota_id x) { changed_at_[x.index()] = ++last_change_; }

  struct extra_pod {
    record r;
    unit_rank rank;
    /// The action in which it was pipelined.
    std::uint64_t phase = 0;
  };
  [[nodiscard]] const extra_pod& extra(unit_id id) const {
    ALLOT_ASSERT(id.number() < extras_, "the cycle of that extra pod is over");
    return extra_[id.number()];
  }
  [[nodiscard]] bool is_active(job_id id) const {
    return session_->jobs().contains(id) &&
           (session_->jobs().at(id).state == job_state::running || stands_pipelined(id));
  }
  [[nodiscard]] std::span<const extra_pod> extras() const {
    return std::span<const extra_pod>{extra_}.subspan(0, extras_);
  }
  waiting_unit add_extra(const record& core, std::uint32_t left, std::uint32_t active) {
    // Their records are used again, so that copying one allocates nothing.
    if (extra_.size() == extras_) extra_.push_back({});
    extra_pod& e = extra_[extras_++];
    e.r = core;
    e.r.pick = {};
    detail::read_request(e.r, session_->view(), 1);
    e.r.elastic_pods.clear();
    e.r.pods_to_come = 0;
    e.r.facts.id = {};
    e.r.ticket = static_cast<std::uint32_t>(extras_ - 1);
    e.r.facts.elastic = true;
    e.r.facts.core = core.facts.id;
    e.r.state = job_state::pending;
    e.r.request_class = {};
    e.r.preempts_from = session_->preempts_from(e.r);
    e.rank = unit_rank::of(e.r, active > 0 ? 2 : 1);
    e.phase = 0;
    auto kind = unit_kind<n>::of(*session_, e.r);
    kind.pods = left;
    queues.add_extra(e.r, kind, e.rank);
    return {e.rank, unit_id::of(e.r), e.r.facts.request};
  }
  [[nodiscard]] static bool contains(const vector<std::size_t>& nodes, std::size_t node) {
    return detail::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  [[nodiscard]] bool knows_room() const noexcept { return !has_nodes_ || knows_capacity; }
  /// Whether the request fits where `used(d)` of each dimension is used.
  template <class Used>
  [[nodiscard]] bool fits_in(Used used, const resources<n>& request) const {
    return detail::all_of(accounts.counted().begin(), accounts.counted().end(), [&](std::size_t d) {
      if (request[d] == quantity{}) return true;
      const quantity then = used(d) + request[d];
      return then.is_bounded() &&
             (!is_bounded_ || then <= accounts.capacity()[d] + without_place_[d] + overbooked_[d]);
    });
  }
  [[nodiscard]] resources<n> pipelined_total() const {
    resources<n> sum;
    for (const pipelined_unit& p : pipelined_) {
      if (!p.is_undone) sum += p.request;
    }
    return sum;
  }
  /// Pods of a unit, by position; of a larger one, all.
  using pod_set = std::uint64_t;
  [[nodiscard]] static std::uint32_t count(const record& r, pod_set pods) {
    if (r.facts.pods >= 64) return r.facts.pods;
    return static_cast<std::uint32_t>(std::popcount(pods & ((pod_set{1} << r.facts.pods) - 1)));
  }
  /// Those of a pipelined unit that ran and have been evicted.
  [[nodiscard]] pod_set pods_that_left(const record& r) const {
    const pod_set* const evicted = evicted_pods_.find(r.facts.id);
    return r.state == job_state::evicting && evicted != nullptr ? *evicted : 0;
  }
  /// Those that would not stay on their nodes; if these are fewer, they change devices: the first ones.
  [[nodiscard]] pod_set moving_pods(const record& r, std::uint32_t moves,
                                    std::span<const std::size_t> nodes) {
    waits_on_.clear();
    add_nodes_of(r, waits_on_);
    pod_set moving = 0;
    for (std::size_t i = 0; i < nodes.size() && i < 64; ++i) {
      if (i >= waits_on_.size() || waits_on_[i] != nodes[i]) moving |= pod_set{1} << i;
    }
    for (std::size_t i = 0; i < 64 && count(r, moving) < moves; ++i) moving |= pod_set{1} << i;
    return moving;
  }
  /// A unit that was announced, and admitted since, waits again: that is not announced once more. An elastic
  /// pod comes back as the next pod of its job.
  void goes_on_waiting(job_id id, job_id core) {
    if (session_->jobs().contains(id)) return adopt_announced(session_->jobs().at(id));
    if (!session_->jobs().contains(core)) return;
    for (const job_id pod : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(pod).state == job_state::pending) adopt_announced(session_->jobs().at(pod));
    }
  }
  void undo_pipelined(const record& r, job_id beneficiary, bool is_moved, pod_set moved) {
    const unit_id id = unit_id::of(r);
    for (pipelined_unit& p : pipelined_) {
      if (p.id != id || p.is_undone) continue;
      p.is_undone = true;
      record_change(p.quota);
      if (p.where && !p.is_stranded) session_->books().places.vacate(*p.where);
      accounts.release(p.quota, p.request, p.in);
    }
    auto& plan = session_->plan();
    if (pod_set* const evicted = evicted_pods_.find(r.facts.id);
        r.state == job_state::evicting && evicted != nullptr) {
      // It was running: pods that move or go only now are evicted, too.
      const std::uint32_t before = count(r, *evicted);
      *evicted |= moved;
      for (auto& e : plan.evictions) {
        if (e.id == id) e.pods += count(r, *evicted) - before;
      }
    }
    if (is_moved) return;
    const auto has_id = [id](const auto& reserved) { return reserved.id == id; };
    if (erase_if(plan.nominations, has_id) == 0) return;
    for (auto& e : plan.evictions) {
      if (e.beneficiary == id) e.beneficiary = beneficiary;
    }
    // It may be announced again.
    announced_[r.facts.id] = 0;
  }
  struct forgotten_charge {
    job_id core;
    quota_id quota;
    resources<n> request;
    capacity_kind in = capacity_kind::any;
  };
  Session* session_ = nullptr;
  vector<pipelined_unit> pipelined_;
  vector<forgotten_charge> forgotten_;
  vector<extra_pod> extra_;
  /// How many of them there are; the others are to be used again.
  std::size_t extras_ = 0;
  /// The jobs of the elastic pods that were evicted, once for each.
  vector<job_id> gone_pods_;
  vector<std::size_t> waits_on_;
  /// The nodes that are no candidates, unless they have victims; and those that are none at the moment.
  vector<std::size_t> never_;
  vector<std::size_t> no_candidates_;
  /// Devices that are lost until the end of the cycle: see `undo_search`.
  vector<place> lost_;
  /// By job, if it was running and is pipelined: the pods that have been evicted.
  by_job<pod_set> evicted_pods_;
  vector<job_id> admitted_;
  /// When a job was last pipelined, and where that is noted. Phase numbers never repeat; a cycle begins with
  /// one.
  struct mark {
    std::uint64_t phase = 0;
    std::size_t at = 0;
  };
  /// By job.
  by_job<mark> marks_;
  /// By job: the ticket of the stay for which it was announced.
  by_job<std::uint32_t> announced_;
  std::uint64_t phase_ = 0;
  std::uint64_t cycle_ = 0;
  std::uint64_t changes_ = 0;
  /// By quota.
  vector<std::uint64_t> changed_at_;
  std::uint64_t last_change_ = 0;
  /// What the jobs being evicted hold.
  resources<n> leaving_;
  /// What was pipelined in this cycle without a place; and what a trial has given so: see `place_moved`.
  resources<n> without_place_;
  resources<n> overbooked_;
  bool past_counts_ = false;
  bool has_nodes_ = false;
  bool is_bounded_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
