// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Where a job is on its way through the scheduler.
enum class job_state : std::uint8_t {
  /// Not a job of the scheduler (any more).
  unknown,
  pending,
  /// Decided, and waiting for others to go.
  reserved,
  running,
  /// Told to go; it still holds its share.
  evicting,
};

namespace detail {

/// How often a job has made others yield since the world last changed otherwise. It may do so a few times:
/// who took its own back may lose it to its parent and take it back from another. But where several rules
/// meet in several dimensions (a parent takes from a child what makes room for a sibling, which ...), jobs
/// that each have a claim on the next could evict one another in a circle for ever. So the turns are counted.
class preemption_turns {
 public:
  /// Of random workloads none was seen in which a job had need of more, but for circles.
  static constexpr std::uint32_t most = 4;

  /// `epoch` counts the changes of the world.
  [[nodiscard]] constexpr bool left_in(std::uint64_t epoch) const noexcept {
    return epoch != epoch_ || taken_ < most;
  }
  constexpr void take_in(std::uint64_t epoch) noexcept {
    taken_ = epoch == epoch_ ? taken_ + 1 : 1;
    epoch_ = epoch;
  }
  /// Who took a turn last, and of those at once who took more, is the greater.
  friend constexpr auto operator<=>(const preemption_turns&, const preemption_turns&) noexcept = default;

 private:
  std::uint64_t epoch_ = 0;
  std::uint32_t taken_ = 0;
};

/// What a scheduler keeps of a job, read from the view once.
template <job_view View, placement Placement>
struct job_record {
  typename View::job what{};
  running_job<dimensions<View>> facts{};
  job_rank rank{};
  /// What the job asks for beside the flavors of its menu, and which of these were chosen. `facts.request` is
  /// what it asks for under that choice, and `demand` goes with it.
  resources<dimensions<View>> base{};
  flavor_menu<dimensions<View>> menu{};
  flavor_pick pick{};
  typename Placement::demand demand{};
  typename Placement::allocation where{};
  std::uint32_t shape = 0;
  /// Counts the stays in a queue, so that an entry of an earlier stay is known as stale.
  std::uint32_t ticket = 0;
  /// The number of the job's submission: two jobs that had the same id differ in it.
  std::uint64_t serial = 0;
  /// The number of the step that admitted it.
  std::uint64_t admitted_in = 0;
  /// The number of the step whose plan lists it among the holds.
  std::uint64_t held_in = 0;
  /// Of an elastic job: the pods that it could have and that are no units of their own yet, and the units.
  std::uint32_t pods_to_come = 0;
  std::vector<job_id> surplus{};
  preemption_turns turns{};
  job_state state = job_state::unknown;
  bool preemptible = true;
  /// Whether a later job of the same shape has no better chances.
  bool follows_priority = false;
};

template <placement Placement, job_view View>
[[nodiscard]] typename Placement::demand demand_of(const View& view, const typename View::job& j,
                                                   std::uint32_t pods, const flavor_pick& pick) {
  if constexpr (std::same_as<Placement, no_placement>) {
    return {};
  } else if constexpr (flavored_view<View>) {
    return view.demand(j, pods, pick);
  } else if constexpr (elastic_view<View>) {
    return view.demand(j, pods);
  } else {
    return view.demand(j);
  }
}

/// The pods with which the job starts.
template <job_view View>
[[nodiscard]] std::uint32_t core_pods(const View& view, const typename View::job& j) {
  if constexpr (elastic_view<View>) return static_cast<std::uint32_t>(view.min_pods(j));
  return 1;
}
/// The pods that it can have.
template <elastic_view View>
[[nodiscard]] std::uint32_t all_pods(const View& view, const typename View::job& j) {
  return static_cast<std::uint32_t>(view.pods(j));
}

/// Reads what so many pods of the job ask for, with the first of all flavors.
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
  r.demand = demand_of<Placement>(view, r.what, pods, r.pick);
}

/// Reads all that the view shows of a job; `sequence` stands in for what it does not. Keeps the count of
/// stays, which belongs to the id.
template <job_view View, placement Placement>
void read_job(job_record<View, Placement>& r, const View& view, const typename View::job& j,
              std::uint64_t sequence) {
  const std::uint32_t ticket = r.ticket;
  r = {};
  r.ticket = ticket;
  r.what = j;
  r.serial = sequence;
  if constexpr (preemptible_view<View>) r.preemptible = view.preemptible(j);
  r.facts.quota = view.quota(j);
  r.facts.priority = static_cast<std::int32_t>(view.priority(j));
  r.facts.submitted = static_cast<instant>(sequence);
  if constexpr (timed_view<View>) r.facts.submitted = static_cast<instant>(view.submitted(j));
  r.facts.order = sequence;
  if constexpr (identified_view<View>) r.facts.order = static_cast<std::uint64_t>(view.id(j));
  if constexpr (checkpointed_view<View>) {
    r.facts.checkpoint = static_cast<instant>(view.checkpoint(j));
    r.facts.restart = static_cast<instant>(view.restart(j));
  }
  read_request(r, view, core_pods(view, j));
  if constexpr (elastic_view<View>) r.pods_to_come = all_pods(view, j) - r.facts.pods;
}

/// Records by id, which stay where they are. An id is given again after its job has gone, the one freed last
/// first.
template <class Record>
class job_table {
 public:
  [[nodiscard]] job_id add() {
    if (!free_.empty()) {
      const job_id id = free_.back();
      free_.pop_back();
      return id;
    }
    if (size_ % chunk_size == 0) chunks_.emplace_back(chunk_size);
    return job_id{size_++};
  }
  void remove(job_id id) {
    Record& r = (*this)[id];
    r.state = job_state::unknown;
    ++r.ticket;
    free_.push_back(id);
  }
  [[nodiscard]] bool contains(job_id id) const {
    return id.index() < size_ && (*this)[id].state != job_state::unknown;
  }
  [[nodiscard]] Record& operator[](job_id id) {
    return chunks_[id.index() / chunk_size][id.index() % chunk_size];
  }
  [[nodiscard]] const Record& operator[](job_id id) const {
    return chunks_[id.index() / chunk_size][id.index() % chunk_size];
  }

 private:
  static constexpr std::size_t chunk_size = 64;

  std::vector<std::vector<Record>> chunks_;
  std::size_t size_ = 0;
  std::vector<job_id> free_;
};

/// Numbers the shapes: what a job asks for, by which its chances do not differ from another's of its quota.
/// In a queue where priorities stand in no order they belong to it, for a higher one may preempt more.
template <std::size_t N, class Demand>
class shape_table {
 public:
  struct shape {
    resources<N> request;
    flavor_menu<N> menu;
    Demand demand;
    lane in;
    /// The lowest of all where it does not matter.
    std::int32_t priority;
    friend auto operator<=>(const shape&, const shape&) = default;
  };
  static constexpr std::int32_t any_priority = std::numeric_limits<std::int32_t>::min();

  [[nodiscard]] std::uint32_t number(shape s) {
    const auto next = static_cast<std::uint32_t>(by_number_.size());
    const auto [at, is_new] = numbers_.try_emplace(std::move(s), next);
    if (is_new) by_number_.push_back(&at->first);
    return at->second;
  }
  [[nodiscard]] const shape& operator[](std::uint32_t number) const { return *by_number_[number]; }

 private:
  std::map<shape, std::uint32_t> numbers_;
  std::vector<const shape*> by_number_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
