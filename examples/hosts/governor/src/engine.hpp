// SPDX-License-Identifier: BSL-1.0
//
// allot's scheduler behind the names of jobs and machines. All that it is ever told is an `event`, so a log
// of events replays it exactly: same events, same plans.
#pragma once

#include "governor/src/facts.hpp"
#include "governor/src/job_table.hpp"
#include "governor/src/places.hpp"

#include <allot/core/dimension_names.hpp>
#include <allot/core/result.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/lab/change_story.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/lab/quotas_file.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/sim/job.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot_governor {

/// All that a scheduler knows, by names.
using engine_state = allot::scheduler_state<job_name, std::vector<node_share>>;

/// Something that the engine is told. Which members count depends on the kind.
struct event {
  enum class kind : std::uint8_t {
    /// The job waits: `key`, `what`.
    submit,
    /// It runs already: `key`, `what`, `at` since when, `where`, `pick`.
    adopt,
    /// What it is or where it runs has changed: `key`, `what`, `at`, `where`, `pick`.
    alter,
    /// The host itself evicts it.
    evicting,
    /// Its run began at `at`.
    started,
    /// It is over; it has left and waits again; it is no longer wanted.
    finished,
    evicted,
    cancel,
    /// Nothing new starts on `node`, or again.
    close,
    open,
    /// A job that is not governed has `where`, and `what.pods` besides GPUs; or has gone.
    foreign,
    foreign_gone,
    /// What another scheduler knew: `state`, and `jobs` with their facts. The first event of a scheduler.
    resume,
    /// From now on nobody is evicted; or again.
    freeze,
    thaw,
    /// The host could not start it; it is not tried before `at`.
    start_failed,
    /// The host could not evict it: it runs on, and is no victim before `at`.
    not_evicted,
  };
  kind is{};
  job_name key{};
  facts what{};
  allot::instant at = 0;
  std::vector<node_share> where{};
  /// Which flavors it has of those that it could choose.
  allot::flavor_pick pick{};
  std::string node{};
  std::vector<std::pair<job_name, facts>> jobs{};
  engine_state state{};
};

/// A plan by names.
struct decision {
  struct admission {
    job_name key{};
    /// Empty if the host chooses the machines. Of a job whose pods differ those of each set, one after the
    /// other, a machine for each pod.
    std::vector<node_share> where{};
    amounts borrows{};
    /// With how many pods it starts, and in which flavors.
    std::uint32_t pods = 0;
    allot::flavor_pick pick{};
    /// If its pods differ: how many of each set.
    std::vector<std::uint32_t> pods_of_sets{};
  };
  struct eviction {
    job_name key{};
    /// None: it is evicted for a reason of its own.
    std::optional<job_name> beneficiary{};
    allot::relation how{};
    /// A sentence.
    std::string text{};
  };
  struct nomination {
    job_name key{};
    std::vector<job_name> victims{};
  };
  std::vector<admission> admissions{};
  std::vector<eviction> evictions{};
  std::vector<nomination> nominations{};
  /// Those that were tried and wait.
  std::vector<job_name> pending{};

  [[nodiscard]] bool empty() const noexcept {
    return admissions.empty() && evictions.empty() && nominations.empty();
  }
};

/// What the engine is made of.
struct engine_setup {
  /// With a preset of the library.
  allot::lab::quotas_file quotas;
  /// The text that `quotas` was read from, in which a host has a member of its own.
  std::string text{};
  std::string own_key{};
  /// Whether jobs are given machines; if not, only quotas count.
  bool places_jobs = false;
  /// Whether two pods of a job may share a machine.
  bool one_pod_a_machine = false;
  /// Whether what quotas count is not only on these machines.
  bool has_other_machines = false;
  std::vector<machine> machines{};
  /// The levels of the network, from coarse to fine; none: nobody knows it.
  std::vector<std::string> levels{};
};

/// The view: a job is its number in the table, which the engine owns.
struct host_view {
  using job = std::uint32_t;

  const job_table* table = nullptr;
  amounts total{allot::quantity::unlimited()};

  [[nodiscard]] const amounts& capacity() const { return total; }
  [[nodiscard]] std::uint64_t id(job j) const { return (*table)[j].rank; }
  /// @{
  /// As in the simulator.
  [[nodiscard]] allot::quota_id quota(job j) const { return table->jobs()[j].quota; }
  [[nodiscard]] const amounts& request(job j) const { return table->jobs()[j].request; }
  [[nodiscard]] std::int64_t priority(job j) const { return table->jobs()[j].priority; }
  [[nodiscard]] allot::instant submitted(job j) const { return table->jobs()[j].submit; }
  [[nodiscard]] allot::instant ready_at(job j) const { return all().ready_at(j); }
  [[nodiscard]] bool preemptible(job j) const { return table->jobs()[j].preemptible; }
  [[nodiscard]] bool preempts(job j) const { return table->jobs()[j].preempts; }
  [[nodiscard]] allot::instant duration(job j) const { return table->jobs()[j].duration; }
  [[nodiscard]] allot::instant estimate(job j) const { return table->jobs()[j].estimate; }
  [[nodiscard]] std::uint32_t pods(job j) const { return all().pods(j); }
  [[nodiscard]] std::uint32_t min_pods(job j) const { return all().min_pods(j); }
  [[nodiscard]] std::uint32_t pod_sets(job j) const { return all().pod_sets(j); }
  [[nodiscard]] std::uint32_t pods(job j, allot::pod_set_id s) const { return all().pods(j, s); }
  [[nodiscard]] std::uint32_t min_pods(job j, allot::pod_set_id s) const { return all().min_pods(j, s); }
  /// How many of these pods are of each set; none if all are alike.
  [[nodiscard]] std::vector<std::uint32_t> by_set(job j, std::uint32_t pods) const {
    if (pod_sets(j) < 2) return {};
    const allot::pods_by_set of = all().by_set(j, pods);
    return {of.begin(), of.begin() + pod_sets(j)};
  }
  [[nodiscard]] amounts request(job j, std::uint32_t pods) const { return all().request(j, pods); }
  [[nodiscard]] const amounts& request(job j, allot::pod_set_id s) const {
    return table->unlike()[j].shares[s.index()].request;
  }
  [[nodiscard]] allot::flavor_menu<dimensions> flavors(job j, std::uint32_t pods) const {
    return all().flavors(j, pods);
  }
  [[nodiscard]] allot::flavor_menu<dimensions> flavors(job j, allot::pod_set_id s) const {
    return all().flavors(j, s);
  }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j) const { return pod_request(j, pods(j), {}); }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j, std::uint32_t pods,
                                                    const allot::flavor_pick& pick) const {
    return all().pod_request(j, pods, pick);
  }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j, allot::pod_set_id s,
                                                    const allot::flavor_pick& pick) const {
    return all().pod_request(j, s, pick);
  }
  /// @}

 private:
  [[nodiscard]] allot::sim::workload_view<dimensions> all() const { return table->view(); }
};

using host_policies = allot::any_policies<host_view, host_places>;
using host_scheduler = allot::scheduler<host_view, host_places, host_policies>;

}  // namespace allot_governor

// Compiled in policies.cpp.
extern template allot::any_policies<allot_governor::host_view, allot_governor::host_places>
allot::any_preset::policies_for<allot_governor::host_view, allot_governor::host_places>() const;

namespace allot_governor {

class engine {
 public:
  /// Or everything that is wrong with it.
  [[nodiscard]] static allot::result<std::unique_ptr<engine>> make(engine_setup setup);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Empty, or why the event is refused: nothing has changed then.
  std::string_view apply(const event& e);
  /// Runs the cycle. Valid until the next call.
  [[nodiscard]] const decision& step(allot::instant now);

  [[nodiscard]] const engine_setup& setup() const noexcept { return setup_; }
  [[nodiscard]] const host_scheduler& scheduler() const noexcept { return *scheduler_; }
  [[nodiscard]] std::string_view resource(std::size_t d) const { return setup_.quotas.resources[d]; }

  [[nodiscard]] job_name key_of(allot::job_id id) const;
  /// Whether it knows the job; its state, `pending` if not.
  [[nodiscard]] bool contains(const job_name& k) const { return slots_.count(k) != 0; }
  [[nodiscard]] allot::job_state state(const job_name& k) const;
  /// Precondition: it knows the job.
  [[nodiscard]] const facts& of(const job_name& k) const { return table_[slots_.at(k)]; }
  [[nodiscard]] std::vector<node_share> where(const job_name& k) const;
  /// Whether what the scheduler counts for a job that has its share is that: its quota, amounts, priority,
  /// and whether it may be evicted. Precondition: it knows the job.
  [[nodiscard]] bool counts_for(const job_name& k, const facts& f) const;
  /// When a step may decide something though nothing is told; none: never.
  [[nodiscard]] std::optional<allot::instant> wakes_at() { return scheduler_->wakes_at(); }
  /// For whom a job leaves.
  [[nodiscard]] std::optional<job_name> beneficiary(const job_name& k) const;
  [[nodiscard]] std::optional<allot::reservation> reservation_of(const job_name& k) const;
  /// How many have their turn before it in its quota.
  [[nodiscard]] std::size_t jobs_before(const job_name& k) const {
    return scheduler_->jobs_before(ids_[slots_.at(k)]);
  }
  /// Why it waits, in a sentence without amounts that change all the time.
  [[nodiscard]] std::string why(const job_name& k, allot::addressee whom);
  /// Why it can't start as quotas and nodes are, whatever others do; empty if it can. Its place, which is
  /// that of the nodes, is not looked for.
  [[nodiscard]] std::string why_never(const facts& f) const;
  /// The same of a job that waits, as its policy counts, in whatever flavors; empty also if it is not ready.
  [[nodiscard]] std::string why_never(const job_name& k);
  [[nodiscard]] engine_state state() const;
  /// What would be otherwise with these changes, as of `now`; everything stays as it is. Adds to `problems`
  /// what they name that is not there, and what can't be changed now. Compiled in what_if.cpp.
  [[nodiscard]] allot::lab::change_story what_if(const std::vector<allot::lab::asked_change>& changes,
                                                 allot::instant now, std::vector<std::string>& problems);

  /// Whether it could ever have a place, on empty machines; and why it has none now.
  [[nodiscard]] bool could_ever_fit(const facts& f) const;
  [[nodiscard]] std::string why_no_place(const facts& f) const;

 private:
  using allocation = allot::gpu::allocation_id;

  engine() = default;
  /// The place of a job that runs there.
  [[nodiscard]] allocation take_place(const std::vector<node_share>& where,
                                      const allot::gpu::pod_request& pods);
  [[nodiscard]] std::uint32_t slot_for(const job_name& k, const facts& f);
  /// What it asks for with that many pods.
  [[nodiscard]] allot::gpu::pod_request asked(std::uint32_t slot, const allot::flavor_pick& pick) const;
  void forget(const job_name& k);
  [[nodiscard]] std::string_view note(const job_name& k, std::uint32_t slot, allot::submission answer);
  [[nodiscard]] std::string_view adopt(const event& e, std::uint32_t slot);
  [[nodiscard]] bool is_by_pod(std::uint32_t slot) const { return !table_[slot].sets.empty(); }
  void resume(const event& e);
  [[nodiscard]] std::string larger_than_all(const amounts& request) const;

  engine_setup setup_{.quotas = {.policy = allot::lab::named_policy{allot::any_preset{allot::standard{}}}}};
  job_table table_{};
  std::vector<job_name> keys_{};
  std::vector<allot::job_id> ids_{};
  std::vector<std::uint32_t> free_{};
  std::unordered_map<job_name, std::uint32_t> slots_{};
  std::unordered_map<job_name, allocation> foreign_{};
  std::unique_ptr<host_scheduler> scheduler_{};
  allot::dimension_names<dimensions> names_{};
  decision decision_{};
};

}  // namespace allot_governor
