// SPDX-License-Identifier: BSL-1.0
//
// allot's scheduler behind the names of Slurm's jobs and nodes. All that it is ever told is an `event`, so a
// log of events replays it exactly: same events, same plans.
#pragma once

#include "cluster.hpp"
#include "places.hpp"

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
#include <allot/systems/by_name/any_preset.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot_slurm {

inline constexpr std::size_t dimensions = allot::lab::max_resources;
using amounts = allot::resources<dimensions>;

/// What the scheduler's view shows of a job. Times are milliseconds since 1970.
struct facts {
  allot::quota_id quota{};
  amounts request{};
  allot::gpu::pod_request pods{};
  /// Those of the components of a heterogeneous job: then `pods` has only what is of the whole job.
  std::vector<allot::gpu::pod_set> sets{};
  std::int64_t priority = 0;
  allot::instant submitted = 0;
  /// Breaks ties.
  std::uint64_t rank = 0;
  bool preemptible = true;
  /// Whether others may be evicted for it.
  bool preempts = true;
  /// 0: unknown.
  allot::instant estimate = 0;
  /// From when it can start; 0: at once.
  allot::instant ready = 0;

  /// `pods` with the sets, to which it refers.
  [[nodiscard]] allot::gpu::pod_request asked() const {
    allot::gpu::pod_request r = pods;
    r.sets = {sets.data(), static_cast<std::uint32_t>(sets.size())};
    return r;
  }

  friend bool operator==(const facts&, const facts&) = default;
};

/// All that a scheduler knows, in Slurm's words.
using engine_state = allot::scheduler_state<job_key, std::vector<node_share>>;

/// Something that the engine is told. Which members count depends on the kind.
struct event {
  enum class kind : std::uint8_t {
    /// The job waits: `key`, `what`.
    submit,
    /// It runs already: `key`, `what`, `at` since when, `where`.
    adopt,
    /// What it is or where it runs has changed: `key`, `what`, `at`, `where`.
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
    /// A job that is not governed has `where`, or has gone.
    foreign,
    foreign_gone,
    /// What another scheduler knew: `state`, and `jobs` with their facts. The first event of a scheduler.
    resume,
    /// From now on nobody is evicted; or again.
    freeze,
    thaw,
  };
  kind is{};
  job_key key{};
  facts what{};
  allot::instant at = 0;
  std::vector<node_share> where{};
  std::string node{};
  std::vector<std::pair<job_key, facts>> jobs{};
  engine_state state{};
};

/// A plan by names.
struct decision {
  struct admission {
    job_key key{};
    /// Empty if Slurm chooses the nodes. Of a heterogeneous job those of each set, one after the other.
    std::vector<node_share> where{};
    amounts borrows{};
  };
  struct eviction {
    job_key key{};
    /// None: it is evicted for a reason of its own.
    std::optional<job_key> beneficiary{};
    allot::relation how{};
    /// A sentence.
    std::string text{};
  };
  struct nomination {
    job_key key{};
    std::vector<job_key> victims{};
  };
  std::vector<admission> admissions{};
  std::vector<eviction> evictions{};
  std::vector<nomination> nominations{};
  /// Those that were tried and wait.
  std::vector<job_key> pending{};

  [[nodiscard]] bool empty() const noexcept {
    return admissions.empty() && evictions.empty() && nominations.empty();
  }
};

/// What the engine is made of.
struct engine_setup {
  /// With a preset of the library.
  allot::lab::quotas_file quotas;
  /// Whether jobs are given nodes; if not, only quotas count.
  bool places_jobs = false;
  std::vector<node> nodes{};
  std::vector<network_switch> topology{};
};

/// The view: a job is an index into a table, which the engine owns. This is all that a host has to write.
struct slurm_view {
  using job = std::uint32_t;

  const std::vector<facts>* jobs = nullptr;
  amounts total{allot::quantity::unlimited()};

  [[nodiscard]] allot::quota_id quota(job j) const { return (*jobs)[j].quota; }
  [[nodiscard]] const amounts& request(job j) const { return (*jobs)[j].request; }
  [[nodiscard]] std::int64_t priority(job j) const { return (*jobs)[j].priority; }
  [[nodiscard]] allot::instant submitted(job j) const { return (*jobs)[j].submitted; }
  [[nodiscard]] allot::instant ready_at(job j) const { return (*jobs)[j].ready; }
  [[nodiscard]] std::uint64_t id(job j) const { return (*jobs)[j].rank; }
  [[nodiscard]] bool preemptible(job j) const { return (*jobs)[j].preemptible; }
  [[nodiscard]] bool preempts(job j) const { return (*jobs)[j].preempts; }
  [[nodiscard]] allot::instant duration(job j) const { return (*jobs)[j].estimate; }
  [[nodiscard]] allot::instant estimate(job j) const { return (*jobs)[j].estimate; }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j) const { return (*jobs)[j].asked(); }
  [[nodiscard]] const amounts& capacity() const { return total; }
};

using slurm_policies = allot::any_policies<slurm_view, slurm_places>;
using slurm_scheduler = allot::scheduler<slurm_view, slurm_places, slurm_policies>;

}  // namespace allot_slurm

// Compiled in policies.cpp.
extern template allot::any_policies<allot_slurm::slurm_view, allot_slurm::slurm_places>
allot::any_preset::policies_for<allot_slurm::slurm_view, allot_slurm::slurm_places>() const;

namespace allot_slurm {

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
  [[nodiscard]] const slurm_scheduler& scheduler() const noexcept { return *scheduler_; }
  [[nodiscard]] std::string_view resource(std::size_t d) const { return setup_.quotas.resources[d]; }

  [[nodiscard]] job_key key_of(allot::job_id id) const;
  /// Whether it knows the job; its state, `pending` if not.
  [[nodiscard]] bool contains(const job_key& k) const { return slots_.count(k) != 0; }
  [[nodiscard]] allot::job_state state(const job_key& k) const;
  /// Precondition: it knows the job.
  [[nodiscard]] const facts& of(const job_key& k) const { return facts_[slots_.at(k)]; }
  [[nodiscard]] std::vector<node_share> where(const job_key& k) const;
  /// For whom a job leaves.
  [[nodiscard]] std::optional<job_key> beneficiary(const job_key& k) const;
  [[nodiscard]] std::optional<allot::reservation> reservation_of(const job_key& k) const;
  /// How many have their turn before it in its quota.
  [[nodiscard]] std::size_t jobs_before(const job_key& k) const {
    return scheduler_->jobs_before(ids_[slots_.at(k)]);
  }
  /// Why it waits, in a sentence without amounts that change all the time.
  [[nodiscard]] std::string why(const job_key& k, allot::addressee whom);
  /// Why it can't start as quotas and nodes are, whatever others do; empty if it can. Its place, which is
  /// that of the nodes, is not looked for.
  [[nodiscard]] std::string why_never(const facts& f) const;
  [[nodiscard]] engine_state state() const;
  /// What would be otherwise with these changes, as of `now`; everything stays as it is. Adds to `problems`
  /// what they name that is not there, and what can't be changed now. Compiled in what_if.cpp.
  [[nodiscard]] allot::lab::change_story what_if(const std::vector<allot::lab::asked_change>& changes,
                                                 allot::instant now, std::vector<std::string>& problems);

  /// The nodes of a partition that satisfy a constraint and that `admit` does not rule out, as pools; those
  /// with GPUs of a type, as models. 0: there are none. None: the constraint can't be read.
  [[nodiscard]] std::optional<std::uint64_t> pools(
      std::string_view partition, std::string_view constraint,
      const std::function<bool(const node& like)>& admit = {}) const;
  [[nodiscard]] std::uint64_t models(std::string_view gpu_type) const;
  /// The level of the switches next to the nodes; none without a topology.
  [[nodiscard]] std::optional<std::uint8_t> leaf_level() const;

 private:
  using allocation = allot::gpu::allocation_id;

  engine() = default;
  /// The place of a job that runs there.
  [[nodiscard]] allocation take_place(const std::vector<node_share>& where,
                                      const allot::gpu::pod_request& pods);
  [[nodiscard]] std::uint32_t slot_for(const job_key& k, const facts& f);
  void forget(const job_key& k);
  [[nodiscard]] std::string_view note(const job_key& k, std::uint32_t slot, allot::submission answer);
  void resume(const event& e);

  engine_setup setup_{.quotas = {.policy = allot::lab::named_policy{allot::any_preset{allot::standard{}}}}};
  /// By pool: the partitions and features of its nodes.
  std::vector<node> pool_like_{};
  std::vector<facts> facts_{};
  std::vector<job_key> keys_{};
  std::vector<allot::job_id> ids_{};
  std::vector<std::uint32_t> free_{};
  std::unordered_map<job_key, std::uint32_t, job_key_hash> slots_{};
  std::unordered_map<job_key, allocation, job_key_hash> foreign_{};
  std::unique_ptr<slurm_scheduler> scheduler_{};
  allot::dimension_names<dimensions> names_{};
  decision decision_{};
};

}  // namespace allot_slurm
