// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace sim {

// In the simulator a tick is a millisecond.
/// @{
/// In ticks.
inline constexpr instant second = 1000;
inline constexpr instant minute = 60 * second;
inline constexpr instant hour = 60 * minute;
inline constexpr instant day = 24 * hour;
/// @}

/// The index of a job in a workload sorted by submission, then id.
using job_index = std::uint32_t;

/// The flavors that jobs of one kind accept.
template <std::size_t N = 1>
struct flavor_set {
  /// For one pod, or for a whole job whose pod request is a total.
  flavor_menu<N> menu{};
  /// The group whose choice decides where the pods may run, and the pools for each of its options.
  std::size_t placed_group = 0;
  /// The pools where the pods may run, by option of the placed group.
  vector<std::uint64_t> pools{};
};

/// The sets of a job whose pods differ, or must be apart. A single set is not elastic.
template <std::size_t N = 1>
struct unlike_pods {
  /// What one pod of a set requests of the quota.
  struct share {
    /// In addition to what its flavors count.
    resources<N> request{};
    /// As `job::flavors`, of the set.
    std::uint32_t flavors = 0;
    /// As `job::semi_preemptible`, of the set.
    bool semi_preemptible = false;
  };

  /// What they need of the nodes, and how many there are.
  vector<gpu::pod_set> sets{};
  /// By set.
  vector<share> shares{};
};

/// A job of a simulated workload. Times are in milliseconds.
template <std::size_t N = 1>
struct job {
  /// The quota that it is attached to.
  quota_id quota{};
  /// Of the whole job, in addition to what its flavors count; of one whose pods differ the sum of its sets'.
  resources<N> request{};
  /// What it needs of the nodes. If its pods differ: the levels of the whole job, and how many pods it has.
  gpu::pod_request pod_request{};
  /// The minimum number of pods to run with: if below the pod request's it is elastic. 0: all of them.
  std::uint32_t min_pods = 0;
  /// Number k: its flavors are set k - 1 of the workload. 0: no choice.
  std::uint32_t flavors = 0;
  /// Its priority, higher first.
  std::int64_t priority = 0;
  /// Whether it may be evicted.
  bool preemptible = true;
  /// If not: whether its pods beyond the minimum may be, of one whose pods are alike.
  bool semi_preemptible = false;
  /// Whether others may be evicted for it.
  bool preempts = true;
  /// The time of its submission.
  instant submit = 0;
  /// From when it can start: see `ready_view`. 0: at once.
  instant ready = 0;
  /// How long it runs with all its pods when nothing interrupts it.
  instant duration = 0;
  /// Work is saved at this interval; what was done since is lost on eviction. Nothing: never saved. See
  /// `job_progress`.
  std::optional<instant> checkpoint{};
  /// What resuming after an eviction costs before work continues.
  instant restart = 0;
  /// The job ends when a run has lasted this long. 0: no limit.
  instant time_limit = 0;
  /// The user's estimate of its run time with all its pods: right, too long or too short. The policies' only
  /// knowledge of when it ends. 0: none.
  std::int64_t estimate = 0;
  /// The time by which it should be completed. Only measured: no policy uses it.
  std::optional<instant> deadline{};
  /// In this dimension it is charged for its GPU memory as a part of the GPUs on which it runs; without
  /// one it is charged for what it requests (see `charging_view`).
  std::optional<std::uint8_t> charged_by_memory{};
  /// The number of its class ("train", "inference", ...), by which figures are reported; 0: none.
  std::uint32_t job_class = 0;
  /// Number k: its pods are those of entry k - 1 of the workload's unlike pods. 0: all are alike.
  std::uint32_t unlike = 0;

  /// The number of its pods; 1 if the pod request is for the whole job.
  [[nodiscard]] constexpr std::uint32_t pods() const noexcept {
    return pod_request.total ? 1 : pod_request.pods;
  }
  /// The least pods that it runs with.
  [[nodiscard]] constexpr std::uint32_t fewest_pods() const noexcept {
    return min_pods == 0 || min_pods > pods() ? pods() : min_pods;
  }
};

struct job_history;

/// Lets the sets of pods know which pools their flavors mean. To be called again when either
/// has been copied.
template <std::size_t N>
void link_flavors(std::span<unlike_pods<N>> unlike, std::span<const flavor_set<N>> flavor_sets) {
  for (unlike_pods<N>& j : unlike) {
    std::size_t groups = 0;
    for (std::size_t s = 0; s < j.sets.size(); ++s) {
      const std::uint32_t number = j.shares[s].flavors;
      if (number == 0) continue;
      const flavor_set<N>& of = flavor_sets[number - 1];
      j.sets[s].pools = {of.pools.data(), static_cast<std::uint32_t>(of.pools.size())};
      j.sets[s].group = static_cast<std::uint8_t>(groups + of.placed_group);
      groups += of.menu.groups();
    }
  }
}

/// Presents a workload to a scheduler: a job is its index. With a single queue all jobs are of quota 0.
template <std::size_t N = 1>
struct workload_view {
  /// The handle of a job.
  using job = job_index;

  /// The workload.
  std::span<const sim::job<N>> jobs;
  /// Whether all jobs are of one queue, whatever their quotas.
  bool single_queue = false;
  /// The sets that `job::flavors` refers to.
  std::span<const flavor_set<N>> flavor_sets{};
  /// The capacity of the nodes.
  resources<N> total{quantity::unlimited()};
  /// By job: by how much its next run is longer than its first, or shorter, because of what is saved and what
  /// a restart costs. Empty: no job has run.
  std::span<const instant> resumption{};
  /// What `job::unlike` refers to.
  std::span<const unlike_pods<N>> unlike{};
  /// Whether nodes will be closed of which that is known: then jobs with an estimate are to have ended.
  bool before_outages = false;
  /// By job: what has become of it so far; null: no job has run.
  const job_history* histories = nullptr;
  /// A row of numbers for each job, all of one length; what they mean is the host's business. Empty: none.
  std::span<const std::uint32_t> tags{};

  /// @{
  /// What a job has had until `now`: its attained service, the time that its pods were held, together and
  /// whatever they did (for GPU time, times the GPUs of a pod); the part of its duration that is done and not
  /// lost; how often it ran, and when first, if it has. Defined in sim/job_history.hpp.
  [[nodiscard]] instant attained(job j, instant now) const;
  [[nodiscard]] instant done(job j, instant now) const;
  [[nodiscard]] std::uint32_t runs(job j) const;
  [[nodiscard]] instant first_start(job j) const;
  /// @}
  /// What the host says of the job in that column; 0: nothing.
  [[nodiscard]] std::uint32_t tag(job j, std::size_t column) const {
    const std::size_t columns = tags.size() / jobs.size();
    return column < columns ? tags[j * columns + column] : 0;
  }

  /// The total capacity; unlimited in a dimension in which it is unknown.
  [[nodiscard]] const resources<N>& capacity() const noexcept { return total; }
  /// @{
  /// What the concepts of views ask for (scheduler/view.hpp).
  [[nodiscard]] quota_id quota(job j) const { return single_queue ? quota_id{0} : jobs[j].quota; }
  [[nodiscard]] const resources<N>& request(job j) const { return jobs[j].request; }
  [[nodiscard]] std::int64_t priority(job j) const { return jobs[j].priority; }
  [[nodiscard]] instant submitted(job j) const { return jobs[j].submit; }
  [[nodiscard]] instant ready_at(job j) const {
    return jobs[j].ready == 0 ? std::numeric_limits<instant>::min() : jobs[j].ready;
  }
  [[nodiscard]] std::uint64_t id(job j) const { return j; }
  [[nodiscard]] bool preemptible(job j) const { return jobs[j].preemptible; }
  [[nodiscard]] bool preemptible(job j, pod_set_id s) const {
    return jobs[j].unlike == 0 ? jobs[j].semi_preemptible : shares_of(j)[s.index()].semi_preemptible;
  }
  [[nodiscard]] bool preempts(job j) const { return jobs[j].preempts; }
  [[nodiscard]] instant duration(job j) const { return jobs[j].duration; }
  [[nodiscard]] const gpu::pod_request& pod_request(job j) const { return jobs[j].pod_request; }
  [[nodiscard]] instant checkpoint(job j) const {
    return jobs[j].checkpoint ? std::max<instant>(1, *jobs[j].checkpoint) : 0;
  }
  [[nodiscard]] instant restart(job j) const { return jobs[j].restart; }
  [[nodiscard]] instant time_limit(job j) const { return jobs[j].time_limit; }
  [[nodiscard]] instant estimate(job j) const {
    const instant said = jobs[j].estimate;
    return said == 0 || resumption.empty() ? said : std::max<instant>(1, said + resumption[j]);
  }

  [[nodiscard]] std::uint32_t pods(job j) const { return jobs[j].pods(); }
  [[nodiscard]] std::uint32_t min_pods(job j) const { return jobs[j].fewest_pods(); }
  [[nodiscard]] std::uint32_t pod_sets(job j) const {
    return jobs[j].unlike == 0 ? 1 : static_cast<std::uint32_t>(sets_of(j).size());
  }
  [[nodiscard]] std::uint32_t pods(job j, pod_set_id s) const { return sets_of(j)[s.index()].pods; }
  [[nodiscard]] std::uint32_t min_pods(job j, pod_set_id s) const { return sets_of(j)[s.index()].fewest(); }
  [[nodiscard]] const resources<N>& request(job j, pod_set_id s) const {
    return shares_of(j)[s.index()].request;
  }
  [[nodiscard]] flavor_menu<N> flavors(job j, pod_set_id s) const {
    pods_by_set one{};
    one[s.index()] = 1;
    return flavors(j, one);
  }
  [[nodiscard]] gpu::pod_request pod_request(job j, pod_set_id s, const flavor_pick& pick) const {
    gpu::pod_request r = pod_request(j, 1, pick);
    r.one_of = static_cast<std::uint8_t>(s.index());
    return r;
  }
  /// @}

  /// @{
  /// Of a job whose pods differ.
  [[nodiscard]] const vector<gpu::pod_set>& sets_of(job j) const { return unlike[jobs[j].unlike - 1].sets; }
  [[nodiscard]] const vector<typename unlike_pods<N>::share>& shares_of(job j) const {
    return unlike[jobs[j].unlike - 1].shares;
  }
  [[nodiscard]] gpu::pod_set_list list_of(job j) const { return {sets_of(j).data(), pod_sets(j)}; }
  /// @}
  /// How many of these pods are of each set, of a job whose pods differ.
  [[nodiscard]] pods_by_set by_set(job j, std::uint32_t pods) const { return list_of(j).divide(pods); }
  /// Of which set the next pod is of those with which a job runs at the beginning, if its pods differ: sets
  /// have grown evenly, whatever the policy.
  [[nodiscard]] std::optional<pod_set_id> next_set(job j, std::uint32_t pods) const {
    if (jobs[j].unlike == 0) return std::nullopt;
    return pod_set_id{list_of(j).next_after(by_set(j, pods))};
  }
  /// What so many pods of each set accept: the groups of all sets, in their order.
  [[nodiscard]] flavor_menu<N> flavors(job j, const pods_by_set& pods) const {
    flavor_menu<N> all;
    for (std::size_t s = 0; s < sets_of(j).size(); ++s) {
      const std::uint32_t number = shares_of(j)[s].flavors;
      if (number == 0) continue;
      const flavor_menu<N> some = flavor_menu<N>{flavor_sets[number - 1].menu} * pods[s];
      for (std::size_t g = 0; g < some.groups(); ++g) all.add_group(some.options(g));
    }
    return all;
  }

  /// What `pods` of its pods request of the quota.
  [[nodiscard]] resources<N> request(job j, std::uint32_t pods) const {
    if (pods == jobs[j].pods()) return jobs[j].request;
    resources<N> some;
    if (jobs[j].unlike != 0) {
      const pods_by_set has = by_set(j, pods);
      for (std::size_t s = 0; s < sets_of(j).size(); ++s) some += shares_of(j)[s].request * has[s];
      return some;
    }
    for (std::size_t d = 0; d < N; ++d) {
      some[d] = quantity::milli(jobs[j].request[d].in_milli() / jobs[j].pods()) * pods;
    }
    return some;
  }
  /// The flavors that `pods` of its pods accept.
  [[nodiscard]] flavor_menu<N> flavors(job j, std::uint32_t pods) const {
    if (jobs[j].unlike != 0) return flavors(j, by_set(j, pods));
    if (jobs[j].flavors == 0) return {};
    const flavor_menu<N>& each = flavor_sets[jobs[j].flavors - 1].menu;
    return jobs[j].pod_request.total || pods == 1 ? each : each * pods;
  }
  /// What this many of its pods have under a choice of flavors: the minimum starts together, the others one
  /// by one. Precondition: at least the minimum.
  [[nodiscard]] resources<N> amount(job j, std::uint32_t pods, const flavor_pick& pick) const {
    const sim::job<N>& it = jobs[j];
    if (it.unlike != 0) return request(j, pods) + flavors(j, pods).request(pick);
    const std::uint32_t fewest = it.fewest_pods();
    if (fewest == it.pods() && it.flavors == 0) return it.request;
    resources<N> sum = request(j, fewest) + flavors(j, fewest).request(pick);
    if (pods > fewest) sum += pod(j, pick) * (pods - fewest);
    return sum;
  }
  /// The same for one pod beyond the minimum.
  [[nodiscard]] resources<N> pod(job j, const flavor_pick& pick) const {
    return request(j, 1) + flavors(j, 1).request(pick);
  }
  /// And for one of that set.
  [[nodiscard]] resources<N> pod(job j, pod_set_id s, const flavor_pick& pick) const {
    if (jobs[j].unlike == 0) return pod(j, pick);
    return request(j, s) + flavors(j, s).request(pick);
  }
  /// @{
  /// What `charging_view` asks for. As KAI-Scheduler v0.13 counts it: percent of a device, rounded up.
  [[nodiscard]] bool is_charged_by_place(job j) const { return jobs[j].charged_by_memory.has_value(); }
  template <class Places>
  [[nodiscard]] resources<N> request_at(job j, const resources<N>& request, const Places& in,
                                        const typename Places::allocation& where) const {
    if (jobs[j].unlike == 0) {
      return charged(j, request, in, where, [&] { return charge_on{&jobs[j].pod_request, {}}; });
    }
    std::uint32_t pods = 0;
    if (in.has_nodes()) in.for_each_node(where, [&](std::size_t) { ++pods; });
    // They are listed set by set.
    pods_by_set left = by_set(j, pods);
    std::size_t set = 0;
    return charged(j, request, in, where, [&] {
      while (left[set] == 0 && set + 1 < left.size()) ++set;
      --left[set];
      return charge_of(j, set);
    });
  }
  template <class Places>
  [[nodiscard]] resources<N> request_at(job j, pod_set_id set, const resources<N>& request, const Places& in,
                                        const typename Places::allocation& where) const {
    return charged(j, request, in, where, [&] { return charge_of(j, set.index()); });
  }
  /// @}
  /// What `pods` of its pods need of the nodes under a choice of flavors.
  [[nodiscard]] gpu::pod_request pod_request(job j, std::uint32_t pods, const flavor_pick& pick) const {
    gpu::pod_request r = jobs[j].pod_request;
    r.owner = static_cast<std::uint32_t>(jobs[j].quota.index());
    if (!r.total) r.pods = pods;
    r.estimate = {estimate(j), before_outages};
    if (const instant limit = time_limit(j); before_outages && limit > 0)
      r.estimate.span = r.estimate.is_known() ? std::min(r.estimate.span, limit) : limit;
    if (jobs[j].unlike != 0) {
      r.pods = pods;
      r.sets = list_of(j);
      r.options = pick;
      return r;
    }
    if (jobs[j].flavors != 0) {
      const flavor_set<N>& set = flavor_sets[jobs[j].flavors - 1];
      if (!set.pools.empty()) r.pools &= set.pools[pick[set.placed_group]];
    }
    return r;
  }

 private:
  /// For what a pod is charged: memory of the GPUs on its node, or this much if it asks for none.
  struct charge_on {
    const gpu::pod_request* of;
    quantity otherwise;
  };
  [[nodiscard]] charge_on charge_of(job j, std::size_t set) const {
    return {&sets_of(j)[set].each, shares_of(j)[set].request[*jobs[j].charged_by_memory]};
  }
  /// `next_pod()` says that of the pods there, one after the other.
  template <class Places, class NextPod>
  [[nodiscard]] resources<N> charged(job j, const resources<N>& request, const Places& in,
                                     const typename Places::allocation& where, NextPod next_pod) const {
    resources<N> there = request;
    if (!in.has_nodes()) return there;
    quantity sum{};
    in.for_each_node(where, [&](std::size_t node) {
      const auto& type = in.inventory().layout().type_of(gpu::node_id{node});
      const charge_on pod = next_pod();
      if (pod.of->gpu_memory_mib == 0) {
        sum += pod.otherwise;
        return;
      }
      sum += quantity::milli(gpu::charge_of_memory(pod.of->gpu_memory_mib, type.gpu_memory_mib)) *
             static_cast<std::int64_t>(pod.of->devices);
    });
    there[*jobs[j].charged_by_memory] = sum;
    return there;
  }
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
