// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/scheduler/detail/pending_queue.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// How often a job has preempted since the world last changed otherwise. It may do so a few times: a job that
/// reclaimed its own may lose it to its parent and reclaim it from another. But where several rules meet in
/// several dimensions (a parent takes from a child what makes room for a sibling, which ...), jobs that each
/// have a claim on the next could evict one another in a cycle forever. So the turns are counted.
class preemption_turns {
 public:
  /// In random workloads no job was seen to need more, except in cycles.
  static constexpr std::uint32_t most = 4;

  /// `epoch` counts the changes of the world.
  [[nodiscard]] constexpr bool left_in(std::uint64_t epoch) const noexcept {
    return epoch != epoch_ || taken_ < most;
  }
  constexpr void take_in(std::uint64_t epoch) noexcept {
    taken_ = epoch == epoch_ ? taken_ + 1 : 1;
    epoch_ = epoch;
  }
  /// The last one was for nothing.
  constexpr void give_back(std::uint64_t epoch) noexcept {
    if (taken_in(epoch) > 0) --taken_;
  }
  /// How many it has taken in that epoch.
  [[nodiscard]] constexpr std::uint32_t taken_in(std::uint64_t epoch) const noexcept {
    return epoch == epoch_ ? taken_ : 0;
  }
  /// As many as another one has taken, if these are more in the same epoch, or in a later one.
  constexpr void take_over(const preemption_turns& other) noexcept {
    if (other.epoch_ > epoch_ || (other.epoch_ == epoch_ && other.taken_ > taken_)) *this = other;
  }
  constexpr void restore(std::uint64_t epoch, std::uint32_t taken) noexcept {
    epoch_ = taken == 0 ? 0 : epoch;
    taken_ = taken;
  }
  /// The greater took a turn later or, in the same epoch, took more turns.
  friend constexpr auto operator<=>(const preemption_turns&, const preemption_turns&) noexcept = default;

 private:
  std::uint64_t epoch_ = 0;
  std::uint32_t taken_ = 0;
};

/// The flavors of a job as this view shows them.
template <class View>
using menu_of =
    std::conditional_t<flavored_view<View>, flavor_menu<dimensions<View>>, no_flavors<dimensions<View>>>;

/// From when a job can start, while it waits and is not ready; `always` from then on.
struct ready_time {
  static constexpr instant always = std::numeric_limits<instant>::min();
  instant at = always;
  /// The part of it that the host has said, as a start has failed.
  instant not_before = always;
};

/// What is kept of a reservation whose job has started: its turn, and what it promised first.
struct former_reservation {
  std::uint64_t number = 0;
  instant first_start = without_end;
  bool owned = false;
  bool is_some = false;
};
struct no_reservation {};
template <class View>
using former_reservation_of =
    std::conditional_t<estimated_view<View> || time_limited_view<View>, former_reservation, no_reservation>;

/// The scheduler's record of a job, read from the view once.
template <job_view View, placement Placement>
struct job_record {
  typename View::job what{};
  running_job<dimensions<View>> facts{};
  job_rank rank{};
  /// What the job requests beside the flavors of its menu, and which of these were chosen. `facts.request` is
  /// its request under that choice, and `pod_request` matches it.
  resources<dimensions<View>> base{};
  [[no_unique_address]] menu_of<View> menu{};
  /// The reservation with which it started, in case that fails. A view without ends has none.
  [[no_unique_address]] former_reservation_of<View> had{};
  flavor_pick pick{};
  typename Placement::pod_request pod_request{};
  typename Placement::allocation where{};
  class_number request_class{};
  /// Counts the queue stays of jobs with this index, so that an entry of an earlier stay is known to be
  /// stale.
  std::uint32_t ticket = 0;
  /// The number of the step that admitted it.
  std::uint64_t admitted_in = 0;
  /// The number of the step whose plan lists it as pending.
  std::uint64_t listed_in = 0;
  /// The number of the step in which it was announced last.
  std::uint64_t announced_in = 0;
  /// When it was decided on last, by the numbers of `nominated_jobs`.
  std::uint64_t decided_at = 0;
  /// For an elastic job: how many of its further pods are not units yet, and those that are.
  std::uint32_t pods_to_come = 0;
  vector<job_id> elastic_pods{};
  /// For an elastic pod: of which set it is.
  std::uint8_t set = 0;
  /// Whether the pods of its core may differ.
  bool has_unlike_pods = false;
  preemption_turns turns{};
  ready_time ready{};
  /// Since when it waits, as far as `queue_settings::preempt_after` is concerned.
  instant waits_since = ready_time::always;
  /// While it waits: from when others may be evicted for it; `always` from then on, `without_end` if never.
  instant preempts_from = ready_time::always;
  /// How long it is expected to run; `without_end` if that is not known.
  instant estimate = without_end;
  /// While it runs: when it is expected to end; `without_end` if that is not known.
  instant expected_end = without_end;
  /// While it runs: when it reaches its time limit, which may be at the end of time; the first of all times
  /// if it has none.
  instant over_at = no_limit;
  static constexpr instant no_limit = std::numeric_limits<instant>::min();
  [[nodiscard]] bool is_over_by(instant now) const noexcept { return over_at != no_limit && over_at <= now; }
  /// While it waits: when it may gather again, after it has given up, and until when it would have gathered
  /// if it had not been displaced.
  instant gathers_from = std::numeric_limits<instant>::min();
  std::optional<instant> gathers_until{};
  /// While it waits: why it does, as the cycle found when it tried the job last, and after how many requeues
  /// that was.
  std::uint32_t tried_at = 0;
  pending_reason found = pending_reason::quota;
  job_state state = job_state::unknown;
  /// Whether it is pending with a reservation, and so in no queue.
  bool has_reservation = false;
  bool preemptible = true;
  /// Whether others may ever be evicted for it.
  bool preempts = true;
  /// Whether the host holds it: while it waits it is early, and while it runs it is not preempted.
  bool is_held = false;
  /// While it runs or is nominated: whether evictions are frozen in its quota.
  bool is_frozen = false;
  /// While it runs: until when it is not preempted, as it could not be evicted; the least time if it may be.
  instant spared_until = std::numeric_limits<instant>::min();
  /// Whether it leaves because it has run for as long as it may: then it does not wait again.
  bool is_over = false;
  /// While it runs: whether the host is still starting it, so that `facts.started` may be to come.
  bool is_starting = false;
  /// While it is evicted: by when the host expects that it has left; the first of all times if it has not
  /// said.
  instant leaves_by = no_limit;
  /// Whether a later job of the same equivalence class has no better chances.
  bool follows_priority = false;
  /// While it waits: whether it is too old to be passed (`queue_settings::strict_after`).
  bool is_too_old = false;

  /// Whether it may be preempted now.
  [[nodiscard]] bool may_yield() const noexcept {
    return preemptible && !is_held && !is_frozen && spared_until == std::numeric_limits<instant>::min();
  }
  /// Whether others may be evicted for it by now.
  [[nodiscard]] bool may_preempt() const noexcept { return preempts_from == ready_time::always; }
  /// Whether it waits and is not ready: the view says so, or the host. It is in no queue then.
  [[nodiscard]] bool is_early() const noexcept {
    return state == job_state::pending && ready.at != ready_time::always;
  }
  /// What it requests of its quota under a choice of flavors.
  [[nodiscard]] resources<dimensions<View>> request_under(const flavor_pick& chosen) const {
    return menu.empty() ? base : base + menu.request(chosen);
  }
};

template <placement Placement, job_view View>
[[nodiscard]] typename Placement::pod_request pod_request_of(const View& view, const typename View::job& j,
                                                             std::uint32_t pods, const flavor_pick& pick) {
  if constexpr (std::same_as<Placement, no_placement>) {
    return {};
  } else if constexpr (flavored_view<View>) {
    return view.pod_request(j, pods, pick);
  } else if constexpr (elastic_view<View>) {
    return view.pod_request(j, pods);
  } else {
    return view.pod_request(j);
  }
}

/// What a view may show of a job, each with its default. See `read_job`, which reads the rest.
template <job_view View>
class view_or_default {
  using job = typename View::job;

 public:
  /// The pods the job starts with, and the most that it can have; 0 if the view says a negative number.
  struct pod_counts {
    std::uint32_t least = 1;
    std::uint32_t most = 1;
  };
  [[nodiscard]] static pod_counts pods(const View&, const job&) { return {}; }
  [[nodiscard]] static pod_counts pods(const View& view, const job& j) requires elastic_view<View> {
    return {counted(view.min_pods(j)), counted(view.pods(j))};
  }
  /// How many sets of pods it has; 1 if all are alike.
  [[nodiscard]] static std::size_t sets(const View&, const job&) { return 1; }
  [[nodiscard]] static std::size_t sets(const View& view, const job& j) requires pod_set_view<View> {
    return std::max<std::size_t>(1, counted(view.pod_sets(j)));
  }
  /// The pods of a set, as of the job.
  [[nodiscard]] static pod_counts pods(const View& view, const job& j, [[maybe_unused]] std::size_t set) {
    if constexpr (pod_set_view<View>) {
      if (sets(view, j) > 1) {
        return {counted(view.min_pods(j, pod_set_id{set})), counted(view.pods(j, pod_set_id{set}))};
      }
    }
    return pods(view, j);
  }
  /// Whether its sets are no more than it may have, and are what it says of all pods.
  [[nodiscard]] static bool sets_add_up(const View& view, const job& j) {
    const std::size_t all = sets(view, j);
    if (all > most_pod_sets) return false;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    for (std::size_t s = 0; s < all; ++s) {
      const pod_counts of = pods(view, j, s);
      if (of.least > of.most) return false;
      least += of.least;
      most += of.most;
    }
    const pod_counts job = pods(view, j);
    return least == job.least && most == job.most;
  }
  /// How many of these pods are of each set.
  [[nodiscard]] static pods_by_set by_set(const View& view, const job& j, std::uint32_t all) {
    if (sets(view, j) == 1) return {all};
    return pods_of_sets(
        sets(view, j), [&](std::size_t s) { return pods(view, j, s).least; },
        [&](std::size_t s) { return pods(view, j, s).most; }, all);
  }
  /// The set of the next pod if there are so many of each; some set if none may have more, as when the view
  /// shows fewer by now.
  [[nodiscard]] static std::size_t next_set(const View& view, const job& j, const pods_by_set& has,
                                            set_growth by) {
    const std::size_t all = sets(view, j);
    if (all == 1) return 0;
    const std::size_t next = next_to_grow(
        all, [&](std::size_t s) { return pods(view, j, s).least; },
        [&](std::size_t s) { return pods(view, j, s).most; }, has, by);
    return std::min(next, all - 1);
  }
  /// What one of its further pods requests, of that set, under these flavors.
  [[nodiscard]] static auto request_of_pod(const View& view, const job& j, std::size_t set,
                                           const flavor_pick& pick) requires elastic_view<View> {
    if constexpr (pod_set_view<View>) {
      if (sets(view, j) > 1) return under(view, j, view.request(j, pod_set_id{set}), pod_set_id{set}, pick);
    }
    return under(view, j, view.request(j, std::uint32_t{1}), std::uint32_t{1}, pick);
  }
  /// Whether it accepts these flavors.
  [[nodiscard]] static bool accepts(const View&, const job&, const flavor_pick&) { return true; }
  [[nodiscard]] static bool accepts(const View& view, const job& j,
                                    const flavor_pick& pick) requires flavored_view<View> {
    return is_choice(view.flavors(j, pods(view, j).least), pick);
  }
  /// How long a run may last; 0 or less: forever.
  [[nodiscard]] static instant time_limit(const View&, const job&) { return 0; }
  [[nodiscard]] static instant time_limit(const View& view, const job& j) requires time_limited_view<View> {
    return span_of<View>(view.time_limit(j));
  }
  /// From when it can start.
  [[nodiscard]] static instant ready_at(const View&, const job&) { return ready_time::always; }
  [[nodiscard]] static instant ready_at(const View& view, const job& j) requires ready_view<View> {
    return point_of<View>(view.ready_at(j));
  }
  /// How long a run of the job is expected to last.
  [[nodiscard]] static instant estimate(const View& view, const job& j) {
    const instant most = time_limit(view, j);
    const instant end = most > 0 ? most : without_end;
    if constexpr (estimated_view<View>) {
      if (const auto said = span_of<View>(view.estimate(j)); said > 0) return std::min(said, end);
    }
    return end;
  }

 private:
  template <class Pods>
  [[nodiscard]] static resources<dimensions<View>> under(const View& view, const job& j,
                                                         resources<dimensions<View>> request, Pods pods,
                                                         const flavor_pick& pick) {
    if constexpr (flavored_view<View>) request += view.flavors(j, pods).request(pick);
    return request;
  }
  /// A view may count in signed integers.
  template <count_for<std::uint32_t> T>
  [[nodiscard]] static std::uint32_t counted(const T& pods) {
    if constexpr (integer_for<T, std::int32_t>) {
      return static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(pods), std::int32_t{0}));
    } else {
      return static_cast<std::uint32_t>(pods);
    }
  }
};

/// Reads what `pods` pods of the job request, under the flavors picked in `r`.
template <job_view View, placement Placement>
void read_request(job_record<View, Placement>& r, const View& view, std::uint32_t pods) {
  r.facts.pods = pods;
  if constexpr (elastic_view<View>) {
    r.base = view.request(r.what, pods);
  } else {
    r.base = view.request(r.what);
  }
  r.facts.request = r.base;
  if constexpr (flavored_view<View>) {
    r.menu = view.flavors(r.what, pods);
    r.facts.request += r.menu.request(r.pick);
  }
  r.pod_request = pod_request_of<Placement>(view, r.what, pods, r.pick);
}

/// Reads what one pod of a job beyond its core requests, of that set, beside the pods that are at `r.where`.
template <job_view View, placement Placement>
void read_further_pod(job_record<View, Placement>& r, const View& view, [[maybe_unused]] std::size_t set) {
  bool is_read = false;
  if constexpr (pod_set_view<View>) {
    if (view_or_default<View>::sets(view, r.what) > 1) {
      const pod_set_id of{set};
      is_read = true;
      r.set = static_cast<std::uint8_t>(set);
      r.facts.pods = 1;
      r.base = r.facts.request = view.request(r.what, of);
      if constexpr (flavored_view<View>) {
        r.menu = view.flavors(r.what, of);
        r.facts.request += r.menu.request(r.pick);
      }
      if constexpr (!std::same_as<Placement, no_placement>) {
        if constexpr (flavored_view<View>) {
          r.pod_request = view.pod_request(r.what, of, r.pick);
        } else {
          r.pod_request = view.pod_request(r.what, of);
        }
      }
    }
  }
  if (!is_read) read_request(r, view, 1);
  if constexpr (semi_preemptible_view<View>) {
    if (!r.preemptible && view.preemptible(r.what, pod_set_id{set})) {
      r.preemptible = true;
      r.facts.in = capacity_kind::any;
    }
  }
  if constexpr (near_request<Placement>) r.pod_request = r.pod_request.beside(r.where);
}

/// What it is charged there for what it requests: a further pod of unlike ones as one of its set.
template <job_view View, placement Placement>
[[nodiscard]] resources<dimensions<View>> request_at(const job_record<View, Placement>& r, const View& view,
                                                     const resources<dimensions<View>>& request,
                                                     const Placement& in,
                                                     const typename Placement::allocation& where) {
  if constexpr (set_charging_view<View, Placement>) {
    if (r.facts.elastic && r.has_unlike_pods)
      return view.request_at(r.what, pod_set_id{r.set}, request, in, where);
  }
  return view.request_at(r.what, request, in, where);
}

/// From now on the job is charged for what it uses where it is placed.
template <job_view View, placement Placement>
void charge_by_place(job_record<View, Placement>& r, const View& view, const Placement& in) {
  if constexpr (charging_view<View, Placement>) {
    if (view.is_charged_by_place(r.what))
      r.facts.request = detail::request_at(r, view, r.facts.request, in, r.where);
  }
}
/// From now on it is charged for what it requests.
template <job_view View, placement Placement>
void charge_by_request(job_record<View, Placement>& r, const View& view) {
  if constexpr (charging_view<View, Placement>) {
    if (!view.is_charged_by_place(r.what)) return;
    r.facts.request = r.base;
    if (!r.menu.empty()) r.facts.request += r.menu.request(r.pick);
  }
}

/// Reads all that the view shows of a job; `sequence` replaces what it does not. Keeps the ticket, which
/// belongs to the id.
template <job_view View, placement Placement>
void read_job(job_record<View, Placement>& r, const View& view, const typename View::job& j,
              std::uint64_t sequence) {
  const std::uint32_t ticket = r.ticket;
  r = {};
  r.ticket = ticket;
  r.what = j;
  if constexpr (preemptible_view<View>) r.preemptible = view.preemptible(j);
  if constexpr (preempting_view<View>) r.preempts = view.preempts(j);
  r.facts.quota = view.quota(j);
  r.facts.priority = static_cast<std::int64_t>(view.priority(j));
  r.facts.submitted = static_cast<instant>(sequence);
  if constexpr (timed_view<View>) r.facts.submitted = point_of<View>(view.submitted(j));
  r.facts.order = sequence;
  if constexpr (identified_view<View>) r.facts.order = static_cast<std::uint64_t>(view.id(j));
  if constexpr (checkpointed_view<View>) {
    r.facts.checkpoint = span_of<View>(view.checkpoint(j));
    r.facts.restart = span_of<View>(view.restart(j));
  }
  r.ready.at = view_or_default<View>::ready_at(view, j);
  r.waits_since = r.facts.submitted;
  r.estimate = view_or_default<View>::estimate(view, j);
  r.has_unlike_pods = view_or_default<View>::sets(view, j) > 1;
  const auto [least, most] = view_or_default<View>::pods(view, j);
  read_request(r, view, least);
  r.pods_to_come = most - least;
}

/// Records by id, at stable addresses. An index is reused after its job has gone, last freed first, each time
/// with the next generation; one that has used up its generations is retired.
template <class Record>
class job_table {
 public:
  [[nodiscard]] job_id add() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return job_id{index, slot_at(index).generation};
    }
    if (size_ % chunk_size == 0) chunks_.emplace_back(chunk_size);
    return job_id{size_++};
  }
  void remove(job_id id) {
    slot& s = slot_at(id.index());
    s.record.state = job_state::unknown;
    ++s.record.ticket;
    if (++s.generation != 0) free_.push_back(static_cast<std::uint32_t>(id.index()));
  }
  /// How many records there are, used or free.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Calls `visit(record)` for each job, by index.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (slot_at(i).record.state != job_state::unknown) visit(slot_at(i).record);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (slot_at(i).record.state != job_state::unknown) visit(slot_at(i).record);
    }
  }
  /// The ids to be given next, the last one first.
  [[nodiscard]] vector<job_id> free_ids() const {
    vector<job_id> all;
    for (const std::uint32_t i : free_) all.push_back(job_id{i, slot_at(i).generation});
    return all;
  }
  /// @{
  /// Before the first `add`: as many records as there were before a restart, of which none is given out
  /// unless its id is freed. Then ids are free, in that order, or given to jobs.
  void restore_size(std::size_t size) {
    for (size_ = size; chunks_.size() * chunk_size < size_;) chunks_.emplace_back(chunk_size);
  }
  void restore_free(job_id id) {
    slot_at(id.index()).generation = id.generation();
    free_.push_back(static_cast<std::uint32_t>(id.index()));
  }
  [[nodiscard]] Record& restore(job_id id) {
    slot_at(id.index()).generation = id.generation();
    return slot_at(id.index()).record;
  }
  /// @}
  [[nodiscard]] bool contains(job_id id) const {
    if (id.index() >= size_) return false;
    const slot& s = slot_at(id.index());
    return s.generation == id.generation() && s.record.state != job_state::unknown;
  }
  /// Precondition: the id was given out, and its slot has not been reused for another job.
  [[nodiscard]] Record& operator[](job_id id) { return slot_at(id.index()).record; }
  [[nodiscard]] const Record& operator[](job_id id) const { return slot_at(id.index()).record; }

 private:
  static constexpr std::size_t chunk_size = 64;

  struct slot {
    Record record;
    std::uint32_t generation = 0;
  };
  [[nodiscard]] slot& slot_at(std::size_t index) { return chunks_[index / chunk_size][index % chunk_size]; }
  [[nodiscard]] const slot& slot_at(std::size_t index) const {
    return chunks_[index / chunk_size][index % chunk_size];
  }

  vector<vector<slot>> chunks_;
  std::size_t size_ = 0;
  vector<std::uint32_t> free_;
};

/// What a request of the placement refers to in the host's memory, copied if it has a member type
/// `referents`: an equivalence class outlives the jobs that had it.
struct no_referents {
  static void keep(const auto&) noexcept {}
};
template <class PodRequest>
struct referents_of {
  using type = no_referents;
};
template <class PodRequest>
requires requires {
  typename PodRequest::referents;
}
struct referents_of<PodRequest> {
  using type = typename PodRequest::referents;
};

/// Numbers the equivalence classes: what a job requests, so that jobs of one quota and class have the same
/// chances. Where the queue is not ordered by priority, the priority is part of the class, because a higher
/// one may preempt more. Elastic pods are of classes of their own, as they get no reservations. A class is
/// kept while a job has it; so are as many unused ones as there are used, or a few: nothing is allocated
/// while jobs of the same classes come and go. Numbers are not reused.
template <std::size_t N, class PodRequest, class Menu = flavor_menu<N>>
class request_classes {
 public:
  struct request_class {
    resources<N> request;
    Menu menu;
    PodRequest pod_request;
    capacity_kind in{};
    /// `any_priority` where it does not matter.
    std::int64_t priority = 0;
    bool may_preempt = true;
    bool is_too_old = false;
    bool elastic = false;
    friend bool operator==(const request_class&, const request_class&) = default;
  };
  static constexpr std::int64_t any_priority = std::numeric_limits<std::int64_t>::min();

  /// Counts one more job of the equivalence class; returns its number. O(log equivalence classes), and for a
  /// new one a move of four bytes for each that comes after it.
  [[nodiscard]] class_number add(const request_class& s) {
    std::uint32_t* at = first_not_before(s);
    // Where requests of the placement have no order, those that differ in them alone stand side by side.
    while (at != order_.end() && slots_[*at].what != s && !comes_before(s, slots_[*at].what)) ++at;
    if (at == order_.end() || slots_[*at].what != s) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
      }
      at = order_.insert(at, free_.back());
      free_.pop_back();
      slots_[*at].what = s;
      slots_[*at].refers_to.keep(slots_[*at].what.pod_request);
      ++unused_;
    }
    slot& its = slots_[*at];
    if (its.jobs++ == 0) --unused_;
    return class_number{*at, its.generation};
  }
  /// Counts one job less. Amortised O(1).
  void remove(class_number number) {
    if (--slots_[number.index()].jobs > 0) return;
    ++unused_;
    if (unused_ > least_unused && 2 * unused_ > order_.size()) forget_unused();
  }
  /// Null if it has been dropped.
  [[nodiscard]] const request_class* find(class_number number) const {
    const slot& s = slots_[number.index()];
    return s.generation == number.generation() ? &s.what : nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

 private:
  struct slot {
    slot() = default;
    slot(slot&&) noexcept = default;
    slot& operator=(slot&&) noexcept = default;
    slot(const slot& s) : what(s.what), generation(s.generation), jobs(s.jobs) {
      refers_to.keep(what.pod_request);
    }
    slot& operator=(const slot& s) { return *this = slot{s}; }

    request_class what{};
    typename referents_of<PodRequest>::type refers_to{};
    std::uint32_t generation = 0;
    std::uint32_t jobs = 0;
  };
  static constexpr std::size_t least_unused = 64;

  /// An order of all that has one: requests of the placement need not.
  [[nodiscard]] static bool comes_before(const request_class& a, const request_class& b) {
    if (a.request != b.request) return a.request < b.request;
    if (a.menu != b.menu) return a.menu < b.menu;
    if constexpr (std::totally_ordered<PodRequest>) {
      if (a.pod_request != b.pod_request) return a.pod_request < b.pod_request;
    }
    if (a.in != b.in) return a.in < b.in;
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.may_preempt != b.may_preempt) return a.may_preempt < b.may_preempt;
    return a.is_too_old != b.is_too_old ? a.is_too_old < b.is_too_old : a.elastic < b.elastic;
  }
  [[nodiscard]] std::uint32_t* first_not_before(const request_class& s) {
    return detail::partition_point(order_.begin(), order_.end(),
                                   [&](std::uint32_t i) { return comes_before(slots_[i].what, s); });
  }

  void forget_unused() {
    erase_if(order_, [this](std::uint32_t i) {
      slot& s = slots_[i];
      if (s.jobs > 0) return false;
      s.what = {};
      if (++s.generation != 0) free_.push_back(i);
      return true;
    });
    unused_ = 0;
  }

  vector<slot> slots_;
  /// The slots in use, in the order of their classes.
  vector<std::uint32_t> order_;
  vector<std::uint32_t> free_;
  /// How many equivalence classes have no job.
  std::size_t unused_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
