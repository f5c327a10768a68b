// SPDX-License-Identifier: BSL-1.0
#pragma once

// Replays each tenant of a replay again, alone. Included only where replays are instantiated, see
// replay_run_impl.hpp.

#include "lab/report/measuring.hpp"
#include "lab/report/replay_result.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/scenario_reader.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/lab/isolation.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/sim/progress.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {
namespace detail {

/// A part of the cluster: what a tenant may have, and the nodes to have it on. The nodes keep their ids,
/// pools and models. Nodes outside the part are closed, and on one node some GPUs are taken.
template <std::size_t N>
struct cluster_part {
  resources<N> nominal{};
  sim::places where{};
  /// In milli-GPUs.
  std::int64_t gpus = 0;
};

/// Leaves `gpus` GPUs of the nodes of one type open, and closes the rest.
inline void leave_open(sim::places::inventory_type& inventory, const gpu::node_type& type,
                       std::int64_t gpus) {
  for (const gpu::node_id n : type.nodes) {
    const auto all = static_cast<std::int64_t>(type.gpus);
    const std::int64_t here = std::min(gpus, all);
    gpus -= here;
    if (here == all) continue;
    if (here == 0) {
      inventory.close(n);
      continue;
    }
    gpu::pod_request taken;
    taken.gpus = quantity::whole(all - here);
    const std::uint64_t devices = ~std::uint64_t{0} >> (gpu::max_gpus_per_node - type.gpus);
    const gpu::pod_location rest{n, devices & (~std::uint64_t{0} << here)};
    // A node in MIG mode has no whole GPUs to take.
    if (!inventory.place_at(taken, std::span{&rest, 1})) inventory.close(n);
  }
}

/// The dimension that counts the GPUs of a model: that of the flavor, else that of all GPUs.
[[nodiscard]] inline std::optional<std::size_t> dimension_of(const scenario& s, std::string_view model) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  std::optional<std::size_t> any;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (!counts_gpus(s.resources[d])) continue;
    const std::string_view flavor = flavor_of(s.resources[d]);
    if (flavor.empty()) any = d;
    if (!flavor.empty() && std::equal(flavor.begin(), flavor.end(), model.begin(), model.end(), same))
      return d;
  }
  return any;
}

/// A fraction.
struct portion {
  wide part = 0;
  wide whole = 1;

  [[nodiscard]] std::int64_t of(std::int64_t amount) const {
    return static_cast<std::int64_t>(static_cast<wide>(amount) * part / whole);
  }
};

/// The part of the cluster that has `nominal`, or the given portion of the GPUs of each dimension if there
/// are nodes. Node types contribute the same portion each, up to whole GPUs: the running total is rounded
/// down.
template <std::size_t N>
[[nodiscard]] cluster_part<N> part_of(const scenario& s, quota_id x, const sim::places& all_nodes,
                                      const resources<N>& nominal,
                                      const std::optional<portion>& of_the_whole) {
  cluster_part<N> part;
  part.nominal = nominal;
  if (!s.cluster) {
    for (std::size_t d = 0; d < std::min(N, s.resources.size()); ++d) {
      if (counts_gpus(s.resources[d]) && nominal[d].is_bounded()) part.gpus += nominal[d].in_milli();
    }
    return part;
  }
  part.where = all_nodes;
  sim::places::inventory_type& inventory = part.where.inventory();
  const auto& types = s.cluster->types();
  const std::uint64_t pools = s.quotas[x.index()].pools;
  vector<std::optional<std::size_t>> dimension;
  dimension.reserve(types.size());
  for (const gpu::node_type& t : types) {
    dimension.push_back(t.is_in(pools) ? dimension_of(s, s.cluster->models()[t.model]) : std::nullopt);
  }
  const auto gpus_of = [](const gpu::node_type& t) {
    return static_cast<std::int64_t>(t.nodes.size()) * static_cast<std::int64_t>(t.gpus);
  };
  for (std::size_t d = 0; d < N; ++d) {
    std::int64_t all = 0;
    for (std::size_t t = 0; t < types.size(); ++t) all += dimension[t] == d ? gpus_of(types[t]) : 0;
    if (all == 0) continue;
    std::int64_t mine = all;
    if (of_the_whole) {
      mine = of_the_whole->of(all);
      part.nominal[d] = quantity::whole(mine);
    } else if (nominal[d].is_bounded()) {
      mine = std::min(all, nominal[d].in_milli() / 1000);
    }
    part.gpus += mine * 1000;
    std::int64_t seen = 0;
    std::int64_t given = 0;
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (dimension[t] != d) continue;
      seen += gpus_of(types[t]);
      const auto due = static_cast<std::int64_t>(static_cast<wide>(mine) * static_cast<wide>(seen) /
                                                 static_cast<wide>(all));
      leave_open(inventory, types[t], due - given);
      given = due;
    }
  }
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (!dimension[t]) leave_open(inventory, types[t], 0);
  }
  return part;
}

/// Whether a job could run there alone, under some choice of its flavors.
template <std::size_t N>
[[nodiscard]] bool could_run(const sim::workload_view<N>& jobs, sim::job_index j, const cluster_part<N>& on) {
  const std::uint32_t pods = jobs.min_pods(j);
  const flavor_menu<N> menu = jobs.flavors(j, pods);
  flavor_pick pick{};
  do {
    const resources<N> request = jobs.amount(j, pods, pick);
    bool fits = !on.where.has_nodes() ||
                on.where.why_not(jobs.pod_request(j, pods, pick)).reason == gpu::obstacle::none;
    for (std::size_t d = 0; d < N; ++d) fits = fits && request[d] <= on.nominal[d];
    if (fits) return true;
  } while (advance(pick, menu));
  return false;
}

/// The times of the jobs of one tenant.
struct times_alone {
  vector<shared_and_alone> queue;
  vector<shared_and_alone> jct;
  std::size_t too_large = 0;
};

/// Replays the jobs of x alone, with the quota to itself.
template <std::size_t N>
[[nodiscard]] times_alone replay_alone(const workload<N>& all, quota_id x, cluster_part<N> on,
                                       const queue_settings& settings, const named_policy& preset,
                                       const replay_result& shared) {
  times_alone times;
  const sim::workload_view<N> view{
      .jobs = all.setup.jobs, .flavor_sets = all.setup.flavor_sets, .unlike = all.setup.unlike};
  vector<sim::job<N>> jobs;
  vector<sim::job_index> original;
  for (sim::job_index j = 0; j < all.setup.jobs.size(); ++j) {
    if (all.setup.jobs[j].quota != x) continue;
    if (!could_run(view, j, on)) {
      ++times.too_large;
      continue;
    }
    jobs.push_back(all.setup.jobs[j]);
    jobs.back().quota = quota_id{0};
    original.push_back(j);
  }
  if (jobs.empty()) return times;
  quota_spec<N> only;
  only.name = "alone";
  only.nominal = on.nominal;
  sim::setup<N> setup{.quotas = build_quota_tree<N>({only}).value(),
                      .settings = {settings},
                      .where = std::move(on.where),
                      .jobs = std::move(jobs)};
  setup.flavor_sets = all.setup.flavor_sets;
  setup.unlike = all.setup.unlike;
  setup.capacity = on.nominal;
  auto made = sim::simulator<N>::make(std::move(setup), preset);
  if (!made) return times;
  auto& sim = made.value();
  sim::observers<N> nobody{};
  // No longer than the shared replay went on.
  const auto goes_on = [&](instant next) { return !shared.stopped || next <= shared.stopped->at; };
  if (all.speeds) {
    sim::pacing<N, sim::speed_tables> speeds{all.speeds->of_jobs(original)};
    if (!sim.run(nobody, goes_on, speeds).empty()) return times;
  } else if (!sim.run(nobody, goes_on).empty()) {
    return times;
  }

  // By job number in the simulation.
  vector<const replayed_job*> in_shared(all.setup.jobs.size());
  for (const replayed_job& r : shared.jobs) {
    if (r.index) in_shared[*r.index] = &r;
  }
  for (sim::job_index j = 0; j < original.size(); ++j) {
    const sim::job_history& h = sim.history(j);
    const replayed_job& r = *in_shared[original[j]];
    const instant submit = sim.jobs()[j].submit;
    if (h.runs > 0 && r.start) times.queue.push_back({*r.start - submit, h.first_start - submit});
    const bool completed =
        h.outcome == sim::job_outcome::completed && r.outcome == sim::job_outcome::completed;
    if (completed) times.jct.push_back({*r.end - submit, h.end - submit});
  }
  return times;
}

/// The portion of the whole that x has by weight: a part of its parent's portion, beside the siblings with
/// jobs in their subtrees. Own jobs of an inner quota count as one more child with the quota's own weight.
template <std::size_t N>
class weight_shares {
 public:
  weight_shares(const quota_tree<N>& tree, const vector<bool>& has_jobs, std::size_t dimension)
      : tree_(&tree), has_jobs_(&has_jobs), dimension_(dimension), busy_(tree.slots()) {
    const auto order = tree.top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) {
      busy_[x->index()] = has_jobs[x->index()];
      for (const quota_id c : tree.children(*x)) busy_[x->index()] = busy_[x->index()] || busy_[c.index()];
    }
  }

  [[nodiscard]] portion of(quota_id x) const {
    portion p{1, 1};
    const auto multiply = [&p](std::int64_t mine, std::int64_t all) {
      p.part *= static_cast<wide>(mine);
      p.whole *= static_cast<wide>(std::max<std::int64_t>(all, 1));
      const wide divisor = gcd(p.part, p.whole);
      p.part /= divisor;
      p.whole /= divisor;
    };
    if (!tree_->children(x).empty()) multiply(weight(x), weight(x) + of_children(x));
    for (quota_id at = x; at; at = tree_->parent(at)) {
      const quota_id parent = tree_->parent(at);
      std::int64_t all = 0;
      if (parent) {
        all = of_children(parent) + ((*has_jobs_)[parent.index()] ? weight(parent) : 0);
      } else {
        for (const quota_id root : tree_->roots()) all += busy_[root.index()] ? weight(root) : 0;
      }
      multiply(weight(at), all);
    }
    return p;
  }

 private:
  static wide gcd(wide a, wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a == 0 ? 1 : a;
  }
  [[nodiscard]] std::int64_t weight(quota_id x) const { return tree_->spec(x).weight[dimension_].in_milli(); }
  [[nodiscard]] std::int64_t of_children(quota_id x) const {
    std::int64_t sum = 0;
    for (const quota_id c : tree_->children(x)) sum += busy_[c.index()] ? weight(c) : 0;
    return sum;
  }

  const quota_tree<N>* tree_;
  const vector<bool>* has_jobs_;
  std::size_t dimension_;
  /// Whether there are jobs in the subtree.
  vector<bool> busy_;
};

/// Replays every quota that has jobs of its own twice more: alone on its nominal, and alone on its weight
/// share of the whole. Both are as they were at the beginning. There are no events, and no job is running at
/// first.
template <std::size_t N>
[[nodiscard]] vector<tenant_alone> replay_tenants_alone(const scenario& s, const named_policy& preset,
                                                        const per_dimension<bool, N>& gpus,
                                                        const replay_result& shared) {
  const workload<N> all = make_workload<N>(s);
  const quota_tree<N>& tree = all.setup.quotas;
  vector<bool> has_jobs(s.quotas.size(), false);
  for (const sim::job<N>& j : all.setup.jobs) has_jobs[j.quota.index()] = true;
  std::size_t first_gpu = 0;
  while (first_gpu + 1 < N && !gpus[first_gpu]) ++first_gpu;
  const weight_shares<N> shares{tree, has_jobs, first_gpu};
  const ledger<N> accounts{tree};

  vector<tenant_alone> result(s.quotas.size());
  for (std::size_t i = 0; i < s.initial_quotas; ++i) {
    if (!has_jobs[i]) continue;
    const quota_id x{i};
    tenant_alone& t = result[i];
    std::int64_t quota = 0;
    bool is_bounded = true;
    for (std::size_t d = 0; d < N; ++d) {
      if (!gpus[d]) continue;
      is_bounded = is_bounded && tree.spec(x).nominal[d].is_bounded();
      quota += tree.spec(x).nominal[d].in_milli();
    }
    if (is_bounded && quota > 0) {
      cluster_part<N> part = part_of<N>(s, x, all.setup.where, tree.spec(x).nominal, std::nullopt);
      t.quota_gpus = part.gpus;
      const times_alone times = replay_alone(all, x, std::move(part), all.settings[i], preset, shared);
      t.anomaly = sharing_anomaly(times.queue);
      t.too_large_for_quota = times.too_large;
    }
    const portion mine = shares.of(x);
    resources<N> share;
    for (std::size_t d = 0; d < N; ++d) {
      quantity whole = narrow<N>(s.capacity)[d];
      if (!whole.is_bounded()) {
        whole = {};
        for (const quota_id root : tree.roots())
          whole += std::max(quantity{}, accounts.total_supply(root, d));
      }
      share[d] = whole.is_bounded() ? quantity::milli(mine.of(whole.in_milli())) : whole;
    }
    cluster_part<N> part = part_of<N>(s, x, all.setup.where, share, mine);
    t.share_gpus = part.gpus;
    if (part.gpus == 0) {
      const auto is_its = [x](const sim::job<N>& j) { return j.quota == x; };
      t.too_large_for_share =
          static_cast<std::size_t>(std::count_if(all.setup.jobs.begin(), all.setup.jobs.end(), is_its));
      continue;
    }
    const times_alone times = replay_alone(all, x, std::move(part), all.settings[i], preset, shared);
    t.finish_time = finish_time_fairness(times.jct);
    t.too_large_for_share = times.too_large;
  }
  return result;
}

}  // namespace detail
}  // namespace lab
}  // namespace v0
}  // namespace allot
