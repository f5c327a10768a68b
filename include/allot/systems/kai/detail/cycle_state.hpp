// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/job_table.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/detail/job_queues.hpp>
#include <allot/systems/kai/detail/past_usage.hpp>
#include <allot/systems/kai/detail/running_pods.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// A placement that knows nodes and which jobs are being evicted. It can prefer places where a job can start
/// at once, list the nodes an allocation is placed on, and say whether two are placed alike.
template <class P>
concept node_aware_placement = placement<P> &&
    requires(P p, const P& seen, const typename P::pod_request& pod_request, typename P::allocation where) {
  { p.place_available_first(pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
  { seen.stand_alike(where, where) } -> std::same_as<bool>;
  seen.for_each_node(where, [](std::size_t) {});
};

namespace detail {

/// What the actions of a cycle read and change besides the session: the shares of the quotas, the lines of
/// pending units and potential victims, and the *pipelined* units: decided on in this cycle, waiting for
/// evicted jobs to leave, and forgotten at its end.
template <class Session>
class cycle_state {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using pod_request = typename Session::pod_request;
  using places_type = std::remove_cvref_t<decltype(std::declval<Session&>().places())>;

  using waiting_unit = typename job_queues<Session>::waiting_unit;
  using running_unit = typename running_pods<Session>::running_unit;

  share_accounts<n> accounts;
  job_queues<Session> lines;
  running_pods<Session> running;
  past_usage<Session> usage;

  /// Recent usage is tracked only if it counts.
  cycle_state(bool past_counts, const history_settings& history)
      : usage(history), past_counts_(past_counts) {}

  void reset(Session& session) {
    accounts.reset(session.tree());
    lines.reset(session);
    running.reset(session);
    usage.reset(session);
    leaving_ = {};
  }
  /// Takes note of changes; returns whether there were any.
  bool follow(Session& session) {
    bool any = false;
    session.take_touched([&](quota_id x) {
      if (!std::exchange(any, true)) lines.follow(session, false);
      lines.forget(x);
      running.forget(x);
      const ledger<n>& assumed = session.assumed();
      const resources<n> guaranteed = assumed.own_usage(x, capacity_kind::guaranteed);
      if (past_counts_) usage.note(session, x);
      accounts.set_own(x, assumed.own_usage(x), guaranteed, lines.asked(session, x));
    });
    return any;
  }
  /// Begins a cycle.
  void begin(Session& session) {
    running.follow(session);
    pipelined_.clear();
    cycle_ = ++phase_;
    admitted_.clear();
    leaving_ = {};
    for (const job_id id : session.evicting()) leaving_ += session.at(id).facts.request;
    has_nodes_ = knows_nodes(session);
    is_bounded_ = !has_nodes_ || knows_capacity;
  }
  /// Ends the cycle: a pipelined unit is pending like any other.
  void end(Session& session) {
    for (std::size_t i = pipelined_.size(); i-- > 0;) {
      const pipelined_unit& p = pipelined_[i];
      if (p.where) session.places().release(*p.where);
      accounts.release(p.quota, p.request, p.in);
    }
    pipelined_.clear();
  }

  static constexpr bool knows_capacity =
      capacity_view<std::remove_cvref_t<decltype(std::declval<const Session&>().view())>>;
  /// The capacity the view reports; where it is unknown, `least_capacity`.
  [[nodiscard]] static resources<n> capacity(const Session& session) {
    resources<n> sum = least_capacity(session.tree());
    if constexpr (knows_capacity) {
      const resources<n> known = session.view().capacity();
      for (std::size_t d = 0; d < n; ++d) {
        if (!known[d].is_unlimited()) sum[d] = known[d];
      }
    }
    return sum;
  }
  [[nodiscard]] bool has_nodes() const noexcept { return has_nodes_; }
  /// Only leaves take part: a job of an inner quota neither starts nor is preempted (KAI v0.13).
  [[nodiscard]] static bool is_leaf(const Session& session, quota_id x) {
    return session.tree().children(x).empty();
  }

  /// Begins the next action (phase) of the cycle; returns its number.
  std::uint64_t next_phase() noexcept { return ++phase_; }
  /// The number of decisions.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] bool is_pipelined(job_id id) const {
    return id.index() < marks_.size() && marks_[id.index()] >= cycle_;
  }
  /// Whether it was pipelined when that phase began.
  [[nodiscard]] bool is_pipelined_before(job_id id, std::uint64_t phase) const {
    return is_pipelined(id) && marks_[id.index()] < phase;
  }
  [[nodiscard]] bool was_admitted(job_id id) const {
    return std::find(admitted_.begin(), admitted_.end(), id) != admitted_.end();
  }
  [[nodiscard]] bool any_pipelined() const noexcept { return !pipelined_.empty(); }

  // Places.

  /// Whether there is enough of everything, regardless of nodes.
  [[nodiscard]] bool has_room(const resources<n>& request) const {
    return fits_in(accounts.total(), request);
  }
  [[nodiscard]] resources<n> room() const {
    return is_bounded_ ? accounts.capacity() - accounts.total() : resources<n>{quantity::unlimited()};
  }
  [[nodiscard]] std::optional<place> find_place(Session& session, const pod_request& d,
                                                const resources<n>& request) {
    if (!has_room(request)) return std::nullopt;
    if constexpr (node_aware_placement<places_type>) {
      return session.places().place_available_first(d);
    } else {
      return session.places().place(d);
    }
  }
  /// Whether no job being evicted still holds the place or its capacity.
  [[nodiscard]] bool is_free_now(Session& session, const place& where, const resources<n>& request) const {
    if (!session.places().ready(where)) return false;
    return fits_in(accounts.total() - pipelined_total() + leaving_, request);
  }
  [[nodiscard]] bool stand_alike(Session& session, const place& a, const place& b) const {
    if constexpr (node_aware_placement<places_type>) {
      return session.places().stand_alike(a, b);
    } else {
      return true;
    }
  }
  /// The nodes a job and its elastic pods run on, each once; without nodes, a single one stands for all.
  void nodes_of(Session& session, job_id core, std::vector<std::size_t>& nodes) const {
    nodes.clear();
    add_nodes_of(session, session.at(core), nodes);
    for (const job_id s : session.at(core).elastic_pods) {
      if (session.at(s).state == job_state::running) add_nodes_of(session, session.at(s), nodes);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  void add_nodes_of(Session& session, const record& r, std::vector<std::size_t>& nodes) const {
    if constexpr (node_aware_placement<places_type>) {
      if (has_nodes_)
        return session.places().for_each_node(r.where, [&](std::size_t i) { nodes.push_back(i); });
    }
    nodes.push_back(0);
  }

  // Decisions.

  /// Admits a pending unit at a place taken for it. `grown` receives its job's surplus pending now.
  void admit(Session& session, job_id id, const place& where, std::optional<waiting_unit>& grown) {
    const record& r = session.at(id);
    const job_id core = r.facts.elastic ? r.facts.core : id;
    ++changes_;
    session.admit(id, where);
    admitted_.push_back(id);
    follow(session);
    grown.reset();
    for (const job_id s : session.at(core).elastic_pods) {
      if (session.at(s).state == job_state::pending) grown = lines.unit_of(session, session.at(s));
    }
  }
  /// Pipelines the unit: until the end of the cycle it is to have that place once evicted jobs have left.
  void pipeline(const record& r, const std::optional<place>& where) {
    ++changes_;
    accounts.charge(r.facts.quota, r.facts.request, r.facts.in);
    pipelined_.push_back({r.facts.id, r.facts.quota, r.facts.request, r.facts.in, where});
    if (marks_.size() <= r.facts.id.index()) marks_.resize(r.facts.id.index() + 1);
    marks_[r.facts.id.index()] = phase_;
  }
  /// The pending unit was announced before it was adopted.
  void adopt_announced(const record& r) {
    const std::size_t i = r.facts.id.index();
    if (announced_.size() <= i) announced_.resize(i + 1);
    announced_[i] = r.ticket;
  }
  /// Records in the plan that the unit waits for others to leave: the evictions from `first` on, if any;
  /// otherwise, that it waits at all is recorded once per stay in the queue.
  void announce(Session& session, const record& r, std::size_t first) {
    const std::size_t i = r.facts.id.index();
    if (announced_.size() <= i) announced_.resize(i + 1);
    const bool is_known = std::exchange(announced_[i], r.ticket) == r.ticket;
    if (!is_known || session.plan().evictions.size() > first) session.announce(r.facts.id, first);
  }
  /// Whether that was recorded for a stay in the queue.
  [[nodiscard]] bool is_announced(job_id id, std::uint32_t ticket) const {
    return id.index() < announced_.size() && announced_[id.index()] == ticket;
  }
  /// Evicts a running unit. One admitted in this very cycle has not started: it is pending again.
  void evict(Session& session, job_id id, job_id beneficiary, relation how) {
    ++changes_;
    const record& r = session.at(id);
    if (was_admitted(id)) {
      const victim<n> v{r.facts, how};
      const std::uint32_t ticket = r.ticket;
      std::erase(admitted_, id);
      session.evict_found(std::span{&v, 1}, beneficiary);
      // Its stay in the queue continues.
      if (session.contains(id) && is_announced(id, ticket)) announced_[id.index()] = session.at(id).ticket;
    } else {
      leaving_ += r.facts.request;
      if (!r.facts.elastic) {
        for (const job_id s : r.elastic_pods) {
          if (session.at(s).state != job_state::running || was_admitted(s)) continue;
          leaving_ += session.at(s).facts.request;
        }
      }
      session.evict(id, beneficiary, how);
    }
    follow(session);
  }
  /// A place that can be used at once, as KAI sees it: pipelined units hold nothing yet. One that then no
  /// longer finds a place is pipelined without one.
  [[nodiscard]] std::optional<place> find_free_place(Session& session, const record& r) {
    auto before = session.places().save();
    for (const pipelined_unit& p : pipelined_) {
      if (p.where) session.places().release(*p.where);
    }
    const resources<n> waiting = pipelined_total();
    std::optional<place> where;
    if (fits_in(accounts.total() - waiting, r.facts.request)) where = take_place(session, r.pod_request);
    if (!where || !is_free_now(session, *where, r.facts.request)) {
      session.places().rollback(std::move(before));
      return std::nullopt;
    }
    session.places().commit(std::move(before));
    for (std::size_t i = 0; i < pipelined_.size(); ++i) {
      if (pipelined_[i].where)
        pipelined_[i].where = take_place(session, session.at(pipelined_[i].id).pod_request);
    }
    return where;
  }

  [[nodiscard]] static pod_request pod_request_of(const record& r, std::uint32_t pods) {
    pod_request d = r.pod_request;
    if constexpr (requires { d.pods = pods; }) {
      if (pods != pods_of_unit(r)) d.pods = pods;
    }
    return d;
  }

 private:
  struct pipelined_unit {
    job_id id;
    quota_id quota;
    resources<n> request;
    capacity_kind in = capacity_kind::any;
    std::optional<place> where;
  };

  [[nodiscard]] static bool knows_nodes(Session& session) {
    if constexpr (requires { session.places().has_nodes(); }) {
      return session.places().has_nodes();
    } else {
      return !std::same_as<places_type, no_placement>;
    }
  }
  [[nodiscard]] bool fits_in(const resources<n>& used, const resources<n>& request) const {
    return std::all_of(accounts.counted().begin(), accounts.counted().end(), [&](std::size_t d) {
      const quantity then = used[d] + request[d];
      return request[d] == quantity{} ||
             (then.is_bounded() && (!is_bounded_ || then <= accounts.capacity()[d]));
    });
  }
  [[nodiscard]] resources<n> pipelined_total() const {
    resources<n> sum;
    for (const pipelined_unit& p : pipelined_) sum += p.request;
    return sum;
  }
  [[nodiscard]] std::optional<place> take_place(Session& session, const pod_request& d) const {
    if constexpr (node_aware_placement<places_type>) {
      return session.places().place_available_first(d);
    } else {
      return session.places().place(d);
    }
  }

  std::vector<pipelined_unit> pipelined_;
  std::vector<job_id> admitted_;
  /// By job: the phase in which it was last pipelined. Phase numbers never repeat; a cycle begins with one.
  std::vector<std::uint64_t> marks_;
  /// By job: the ticket of the stay for which it was announced.
  std::vector<std::uint32_t> announced_;
  std::uint64_t phase_ = 0;
  std::uint64_t cycle_ = 0;
  std::uint64_t changes_ = 0;
  /// What the jobs being evicted hold.
  resources<n> leaving_;
  bool past_counts_ = false;
  bool has_nodes_ = false;
  bool is_bounded_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
