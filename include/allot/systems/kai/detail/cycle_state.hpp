// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/detail/cycle_places.hpp>
#include <allot/systems/kai/detail/extra_pods.hpp>
#include <allot/systems/kai/detail/job_queues.hpp>
#include <allot/systems/kai/detail/past_usage.hpp>
#include <allot/systems/kai/detail/pipelined_units.hpp>
#include <allot/systems/kai/detail/running_pods.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>
#include <allot/systems/kai/detail/statement.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// What the actions of a cycle read and change besides the session, and the decisions that change all of it.
template <class Session>
class cycle_state {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using on_nodes = node_placement<typename Session::placement_type>;
  using waiting_unit = typename job_queues<Session>::waiting_unit;
  using running_unit = typename running_pods<Session>::running_unit;
  using pod_set = typename evicted_pods<Session>::pod_set;
  using pipelined_unit = typename pipelined_units<Session>::unit;

  share_accounts<n> accounts;
  job_queues<Session> queues;
  running_pods<Session> running;
  past_usage<Session> usage;
  pipelined_units<Session> pipelined;
  evicted_pods<Session> evicted;
  announcements announced;
  extra_pods<Session> extras;
  cycle_places<Session> places;
  detail::statement<Session> statement;

  /// Recent usage is tracked only if it counts.
  cycle_state(bool past_counts, const history_settings& history)
      : usage(history), past_counts_(past_counts) {}

  /// The session may have moved since the last call of the scheduler, and so may this.
  void bind(Session& session) {
    session_ = &session;
    accounts.follow(session.tree());
    queues.bind(session);
    running.bind(session);
    extras.bind(session, *this);
    places.bind(session, *this);
    statement.bind(accounts, session.books().places);
  }
  void reset() {
    accounts.reset(session_->tree());
    queues.reset();
    running.reset();
    usage.reset(*session_);
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
      if (past_counts_) usage.note(*session_, x);
      accounts.set_own(x, assumed.own_usage(x), guaranteed, queues.asked(x));
    });
    return any;
  }
  /// Begins a cycle; see `cycle_places`.
  void begin(bool counts) {
    running.follow();
    pipelined.begin_cycle();
    extras.begin_cycle();
    places.begin_cycle(counts);
    admitted_.clear();
  }
  /// Ends the cycle: a pipelined unit is pending like any other.
  void end() {
    for (const pipelined_unit& p : pipelined.all()) record_change(p.quota);
    statement.discard();
    extras.end_cycle();
    forgotten_.clear();
  }

  /// The capacity the view reports; where it is unknown, `least_capacity`.
  [[nodiscard]] resources<n> capacity() const {
    resources<n> sum = least_capacity(session_->tree());
    if constexpr (cycle_places<Session>::knows_capacity) {
      const resources<n> known = session_->view().capacity();
      for (std::size_t d = 0; d < n; ++d) {
        if (!known[d].is_unlimited()) sum[d] = known[d];
      }
    }
    return sum;
  }
  /// Only leaves take part: a job of an inner quota neither starts nor is preempted (KAI v0.13).
  [[nodiscard]] bool is_leaf(quota_id x) const { return session_->tree().children(x).empty(); }
  /// How many units of x wait, extra pods included; perhaps more.
  [[nodiscard]] std::size_t waiting(quota_id x) const {
    return session_->queues().waiting(x) + extras.size();
  }
  /// The number of decisions.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  /// Numbers the changes of what runs or is pipelined; that of the last in x.
  [[nodiscard]] std::uint64_t changed_at(quota_id x) const { return changed_at_[x.index()]; }

  // Units.

  [[nodiscard]] const record& at(unit_id id) const {
    return id.is_extra() ? extras.at(id) : session_->jobs().at(id.job());
  }
  /// Whether the unit is there; of an extra pod, whether it is pipelined or the job that it belongs to has
  /// its minimum.
  [[nodiscard]] bool contains(unit_id id) const {
    if (!id.is_extra()) return session_->jobs().contains(id.job());
    return pipelined.stands(id) || is_active(extras.at(id).facts.core);
  }
  /// Whether it runs or is pipelined.
  [[nodiscard]] bool is_active(job_id id) const {
    return session_->jobs().contains(id) &&
           (session_->jobs().at(id).state == job_state::running || pipelined.stands(id));
  }
  /// Whether the job has pods beyond its minimum.
  [[nodiscard]] bool is_elastic(const record& core) const {
    bool is = !core.elastic_pods.empty();
    extras.for_each_of(core.facts.id, [&](const record&) { is = true; });
    return is;
  }
  /// How many pods of the job run or are pipelined.
  [[nodiscard]] std::uint32_t active_pods(const record& core) const {
    std::uint32_t active = is_active(core.facts.id) ? core.facts.pods : 0;
    for (const job_id pod : core.elastic_pods) active += is_active(pod) ? 1U : 0U;
    extras.for_each_of(core.facts.id,
                       [&](const record& pod) { active += pipelined.stands(unit_id::of(pod)) ? 1U : 0U; });
    return active;
  }
  /// Calls `visit(id)` for each pipelined unit of x that may be evicted, in the order of the decisions.
  template <class Visit>
  void for_each_pipelined(quota_id x, Visit visit) const {
    for (const pipelined_unit& p : pipelined.all()) {
      if (may_evict(p, x)) visit(p.id);
    }
  }
  [[nodiscard]] bool has_pipelined(quota_id x) const {
    return pipelined.any_of([&](const pipelined_unit& p) { return may_evict(p, x); });
  }
  /// Whether the unit ran and was told to move in this cycle.
  [[nodiscard]] bool was_moved(const record& r) const {
    return evicted.of(r) != 0 && pipelined.stands(unit_id::of(r));
  }
  /// Whether a unit that ran was told to move in this cycle, so that more may be given than there is.
  /// O(units that are pipelined).
  [[nodiscard]] bool may_overbook() const {
    return pipelined.any_of(
        [&](const pipelined_unit& p) { return contains(p.id) && evicted.of(at(p.id)) != 0; });
  }
  [[nodiscard]] bool has_forgotten() const noexcept { return !forgotten_.empty(); }
  /// Whether as many pods of the job are active as were forgotten: KAI takes it for a job without any.
  [[nodiscard]] bool seems_inactive(job_id core) const {
    std::uint32_t forgotten = 0;
    for (const job_id c : forgotten_) forgotten += c == core ? 1U : 0U;
    return forgotten != 0 && active_pods(session_->jobs().at(core)) == forgotten;
  }

  // What they hold.

  /// Where the unit is placed or, if pipelined, will be; nothing if it is pipelined without a place.
  [[nodiscard]] std::optional<place> place_of(const record& r) const {
    const pipelined_unit* p = pipelined.find(unit_id::of(r));
    return p != nullptr ? p->where : std::optional<place>{r.where};
  }
  /// What a running or pipelined unit is charged.
  [[nodiscard]] resources<n> charge_of(const record& r) const {
    const pipelined_unit* p = pipelined.find(unit_id::of(r));
    return p != nullptr ? p->request : r.facts.request;
  }
  /// What the unit is charged there for what it requests.
  [[nodiscard]] resources<n> charge_at(const record& r, const resources<n>& request,
                                       const std::optional<place>& where) const {
    if constexpr (charging_view<typename Session::view_type, typename Session::placement_type>) {
      if (where && session_->view().is_charged_by_place(r.what)) {
        return detail::request_at(r, session_->view(), request, session_->books().places, *where);
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
  /// The nodes of a job and its elastic pods, each once; without nodes, a single number for all.
  void nodes_of(job_id core, vector<std::size_t>& nodes) const {
    nodes.clear();
    add_nodes_of(session_->jobs().at(core), nodes);
    for (const job_id s : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(s).state == job_state::running || pipelined.stands(s)) {
        add_nodes_of(session_->jobs().at(s), nodes);
      }
    }
    extras.for_each_of(core, [&](const record& pod) {
      if (pipelined.stands(unit_id::of(pod))) add_nodes_of(pod, nodes);
    });
    sort_once(nodes);
  }
  static void sort_once(vector<std::size_t>& nodes) {
    detail::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  void add_nodes_of(const record& r, vector<std::size_t>& nodes) const {
    if (const std::optional<place> where = place_of(r)) {
      add_nodes_at(*where, nodes);
    } else if (!places.has_nodes()) {
      nodes.push_back(0);
    }
  }
  void add_nodes_at(const place& where, vector<std::size_t>& nodes) const {
    places.rules().for_each_node(where, [&](std::size_t node) { nodes.push_back(node); });
  }

  // Decisions.

  /// Admits a pending unit at a place taken for it. `grown` receives the elastic pod of its job
  /// that waits now, if any.
  void admit(job_id id, const place& where, std::optional<waiting_unit>& grown) {
    const record& r = session_->jobs().at(id);
    const job_id core = r.facts.elastic ? r.facts.core : id;
    ++changes_;
    const bool was_announced = announced.contains(id, r.ticket);
    session_->admit(id, where);
    // If its admission is taken back, it goes on waiting as it did.
    if (was_announced) announced.add(r);
    admitted_.push_back(id);
    follow();
    grown.reset();
    for (const job_id s : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(s).state == job_state::pending) grown = queues.unit_of(session_->jobs().at(s));
    }
  }
  /// Pipelines the unit: until the end of the cycle it is to have that place once evicted jobs have left.
  void pipeline(const record& r, const std::optional<place>& where) {
    ++changes_;
    const resources<n> request = charge_at(r, r.facts.request, where);
    statement.charge(r.facts.quota, request, r.facts.in);
    record_change(r.facts.quota);
    pipelined.add({unit_id::of(r), r.facts.quota, request, r.facts.in, where});
    places.takes(where, request);
  }
  /// Records in the plan that the unit waits for others to leave: the evictions from `first` on, if any;
  /// otherwise, that it waits at all is recorded once per stay in the queue.
  void announce(const record& r, std::size_t first) {
    if (unit_id::of(r).is_extra()) {
      if (session_->plan().evictions.size() > first) session_->announce(announced_as(r), first);
      return;
    }
    const bool is_known = announced.contains(r.facts.id, r.ticket);
    announced.add(r);
    if (!is_known || session_->plan().evictions.size() > first) session_->announce(r.facts.id, first);
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
  /// The elastic pod, which is about to be evicted, does not count once more: KAI forgets the charge of a pod
  /// twice if it evicts it twice, and the pod itself. Until the end of the cycle.
  void forget_charge(const record& r) {
    forgotten_.push_back(r.facts.core);
    statement.release(r.facts.quota, charge_of(r), r.facts.in);
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
    if (r.facts.elastic && !unit.is_extra()) extras.evicted_one_of(r.facts.core);
    if (pipelined.stands(unit)) return undo_pipelined(r, beneficiary, moves > 0, moved);
    const job_id id = unit.job();
    if (was_admitted(id)) {
      const victim<n> v{r.facts, how};
      const bool was_announced = announced.contains(id, r.ticket);
      const job_id core = r.facts.elastic ? r.facts.core : id;
      erase(admitted_, id);
      session_->evict_found(std::span{&v, 1}, beneficiary);
      if (was_announced) goes_on_waiting(id, core);
    } else {
      places.leaves(r.facts.request);
      if (!r.facts.elastic) {
        for (const job_id s : r.elastic_pods) {
          if (session_->jobs().at(s).state != job_state::running || was_admitted(s)) continue;
          places.leaves(session_->jobs().at(s).facts.request);
          extras.evicted_one_of(id);
        }
      }
      session_->evict(id, beneficiary, how);
      // Of a gang that moves, only some pods may have to.
      if (moves > 0) session_->plan().evictions.back().pods -= r.facts.pods - evicted.count(r, moved);
      evicted.set(id, moved);
    }
    follow();
  }

 private:
  void record_change(quota_id x) { changed_at_[x.index()] = ++last_change_; }
  [[nodiscard]] bool was_admitted(job_id id) const {
    return detail::find(admitted_.begin(), admitted_.end(), id) != admitted_.end();
  }
  /// Whether the unit is of x and may be evicted.
  [[nodiscard]] bool may_evict(const pipelined_unit& p, quota_id x) const {
    return p.quota == x && !p.is_undone && contains(p.id) && at(p.id).preemptible;
  }
  /// Those that would not stay on their nodes; if these are fewer, they change devices: the first ones.
  [[nodiscard]] pod_set moving_pods(const record& r, std::uint32_t moves,
                                    std::span<const std::size_t> nodes) {
    stands_on_.clear();
    add_nodes_of(r, stands_on_);
    pod_set moving = 0;
    for (std::size_t i = 0; i < nodes.size() && i < 64; ++i) {
      if (i >= stands_on_.size() || stands_on_[i] != nodes[i]) moving |= pod_set{1} << i;
    }
    for (std::size_t i = 0; i < 64 && evicted.count(r, moving) < moves; ++i) moving |= pod_set{1} << i;
    return moving;
  }
  /// A unit that was announced, and admitted since, waits again: that is not announced once more. An elastic
  /// pod comes back as the next pod of its job.
  void goes_on_waiting(job_id id, job_id core) {
    if (session_->jobs().contains(id)) return announced.add(session_->jobs().at(id));
    if (!session_->jobs().contains(core)) return;
    for (const job_id pod : session_->jobs().at(core).elastic_pods) {
      if (session_->jobs().at(pod).state == job_state::pending) announced.add(session_->jobs().at(pod));
    }
  }
  void undo_pipelined(const record& r, job_id beneficiary, bool is_moved, pod_set moved) {
    const unit_id id = unit_id::of(r);
    for (pipelined_unit& p : pipelined.all()) {
      if (p.id != id || p.is_undone) continue;
      p.is_undone = true;
      record_change(p.quota);
      if (p.where && !p.is_stranded) session_->books().places.vacate(*p.where);
      statement.release(p.quota, p.request, p.in);
    }
    auto& plan = session_->plan();
    // If it was running, pods that move or go only now are evicted, too.
    if (const std::uint32_t more = evicted.add(r, moved); more != 0) {
      for (auto& e : plan.evictions) {
        if (e.id == id) e.pods += more;
      }
    }
    if (is_moved) return;
    const auto has_id = [id](const auto& reserved) { return reserved.id == id; };
    if (erase_if(plan.nominations, has_id) == 0) return;
    for (auto& e : plan.evictions) {
      if (e.beneficiary == id) e.beneficiary = beneficiary;
    }
    // It may be announced again.
    announced.remove(r.facts.id);
  }

  Session* session_ = nullptr;
  /// The jobs of the pods that were forgotten, once for each.
  vector<job_id> forgotten_;
  vector<job_id> admitted_;
  vector<std::size_t> stands_on_;
  std::uint64_t changes_ = 0;
  /// By quota.
  vector<std::uint64_t> changed_at_;
  std::uint64_t last_change_ = 0;
  bool past_counts_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
