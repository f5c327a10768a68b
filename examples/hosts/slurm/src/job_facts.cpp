// SPDX-License-Identifier: BSL-1.0
#include "job_facts.hpp"

#include "machines.hpp"

#include <allot/quota/access.hpp>

#include <algorithm>

namespace allot_slurm {

namespace {

[[nodiscard]] allot::quantity whole(std::uint64_t amount) {
  return allot::quantity::whole(
      static_cast<std::int64_t>(std::min<std::uint64_t>(amount, 1'000'000'000'000)));
}

/// The pods of a component. Those whose sum alone is given fill whole nodes, as they do in a job of its own;
/// none if that leaves some for a smaller one.
[[nodiscard]] std::optional<allot::gpu::pod_set> set_of(const allot::gpu::pod_request& pods,
                                                        const largest_node& largest) {
  allot::gpu::pod_set s{.each = pods, .pods = pods.pods};
  s.each.pods = 1;
  s.each.total = false;
  if (!pods.total) return s;
  const auto nodes = allot::gpu::split(pods, static_cast<std::uint32_t>(largest.gpus));
  if (!nodes || nodes->has_rest()) return std::nullopt;
  s.pods = static_cast<std::uint32_t>(nodes->pods);
  s.each.gpus = allot::quantity::whole(nodes->each.devices);
  s.each.cpu_milli = nodes->each.cpu_milli;
  s.each.memory_mib = nodes->each.memory_mib;
  return s;
}

[[nodiscard]] std::uint32_t gpus_of(const job& j) {
  std::uint32_t sum = 0;
  for (const node_share& s : j.nodes) sum += s.gpus;
  return sum;
}

/// Whether reservations let the job start on the node now: it is in its own, and none begins before its time
/// limit.
[[nodiscard]] bool admits(const node& n, const job& j, seconds now) {
  bool is_in_its_own = j.reservation.empty();
  for (const node_reservation& r : n.reservations) {
    if (r.name == j.reservation) {
      is_in_its_own = true;
    } else if (r.end > now && (j.time_limit == 0 || now + j.time_limit > r.start)) {
      return false;
    }
  }
  return is_in_its_own;
}

}  // namespace

std::string component_text(std::size_t number) {
  return "its component " + std::to_string(number);
}

void job_facts::take(std::vector<node> nodes, std::size_t levels) {
  nodes_ = std::move(nodes);
  levels_ = levels;
  largest_ = {};
  largest_in_.clear();
  reservations_.clear();
  pool_like_.clear();
  gpu_types_.clear();
  std::set<std::string> pools;
  for (const node& n : nodes_) {
    largest_.look_at(n);
    for (const std::string& p : n.partitions) largest_in_[p].look_at(n);
    for (const node_reservation& r : n.reservations) reservations_.emplace(r.name, r);
    if (pools.insert(pool_of(n)).second) pool_like_.push_back(n);
    if (std::find(gpu_types_.begin(), gpu_types_.end(), n.gpu_type) == gpu_types_.end())
      gpu_types_.push_back(n.gpu_type);
  }
}

milliseconds job_facts::reservation_begins_at(const job& j, milliseconds now) const {
  milliseconds begins = 0;
  for (const job& part : parts_of(j)) {
    const auto its = reservations_.find(part.reservation);
    const milliseconds at = its != reservations_.end() ? its->second.start * 1000 : 0;
    if (at > now) begins = std::max(begins, at);
  }
  return begins;
}

milliseconds job_facts::ruled_out_at(const job& j, milliseconds now) const {
  milliseconds next = allot::without_end;
  if (j.time_limit == 0) return next;
  for (const auto& [name, r] : reservations_) {
    const milliseconds at = (r.start - j.time_limit) * 1000;
    if (at >= now) next = std::min(next, at);
  }
  return next;
}

/// Slurm checks memory and disk also where it does not count them.
std::string job_facts::why_no_node(const job& j) const {
  std::uint64_t memory = 0;
  std::uint64_t disk = 0;
  std::uint64_t cpus = 0;
  for (const auto& [partition, largest] : largest_in_) {
    if (!has_word(j.partition, partition)) continue;
    memory = std::max(memory, largest.memory_mib);
    disk = std::max(disk, largest.tmp_disk_mib);
    cpus = std::max(cpus, largest.cpus);
  }
  const raw_request& r = j.request;
  const auto lacks = [&](std::uint64_t asked, std::uint64_t most, const char* what) {
    return (j.component ? component_text(*j.component) + ": " : "") + "no node of its partition has " +
           std::to_string(asked) + what + ": the largest has " + std::to_string(most);
  };
  if (memory > 0 && !r.memory_is_per_cpu && r.memory_mib > memory)
    return lacks(r.memory_mib, memory, " MiB of memory");
  if (disk > 0 && r.tmp_disk_mib > disk) return lacks(r.tmp_disk_mib, disk, " MiB of temporary disk");
  if (cpus > 0 && r.max_nodes > 0 && r.cpus > r.max_nodes * cpus)
    return lacks((r.cpus + r.max_nodes - 1) / r.max_nodes, cpus, " CPUs");
  return {};
}

bool job_facts::nodes_have_room(const job& j, const facts& f, const std::set<std::string>& closed) const {
  const auto have_room = [&](const allot::gpu::pod_request& asked, std::uint32_t pods) {
    const std::int64_t each = asked.gpus.in_milli() / 1000;
    std::int64_t together = 0;
    std::uint32_t with_room = 0;
    for (const node& n : nodes_) {
      const bool is_in = std::any_of(n.partitions.begin(), n.partitions.end(),
                                     [&](const std::string& p) { return has_word(j.partition, p); });
      if (!is_in || closed.count(n.name) != 0) continue;
      const std::int64_t free = std::int64_t{n.gpus} - n.gpus_used;
      together += std::max<std::int64_t>(free, 0);
      if (free >= each) ++with_room;
    }
    return asked.total ? together >= each : with_room >= pods;
  };
  const auto& sets = f.sets;
  return sets.empty() ? have_room(f.pods, f.pods.pods)
                      : std::all_of(sets.begin(), sets.end(),
                                    [&](const auto& s) { return have_room(s.pods.each, s.pods.pods); });
}

std::optional<facts> job_facts::of(const job& j, milliseconds now, std::string& problem, bool ever) const {
  const auto quota = config_.quota_of(j.account);
  if (!quota) {
    problem = "its account \"" + j.account + "\" has no quota";
    return std::nullopt;
  }
  const auto& of = config_.quotas.quotas[*quota];
  if (of.access && j.state == run_state::pending) {
    allot::role_table table;
    table.set_rule(allot::quota_id{*quota}, *of.access);
    const auto roles = groups_ ? groups_(j) : std::vector<std::string>{};
    const allot::principal who{j.user, roles};
    if (!table.decide(who, allot::quota_id{*quota}).allowed) {
      problem = table.explain(who, allot::quota_id{*quota}, of.spec.name);
      return std::nullopt;
    }
  }
  facts f;
  f.quota = allot::quota_id{*quota};
  if (j.components.empty()) {
    auto pods = pods_of(j, now, ever, f.request, problem);
    if (!pods) return std::nullopt;
    f.pods = *pods;
  } else if (!take_components(j, now, ever, f, problem)) {
    return std::nullopt;
  }
  if (const auto at = config_.slurm.qos.find(j.qos); at != config_.slurm.qos.end()) f.priority = at->second;
  // In Slurm nice orders jobs and never preempts: its turn is as if it had been submitted later.
  f.submitted = (j.submitted + j.nice) * 1000;
  f.rank = std::uint64_t{j.key.id} << 32 | (j.key.task == job_key::no_task ? 0 : j.key.task);
  f.preemptible = j.may_requeue;
  f.estimate = j.time_limit * 1000;
  f.pods.estimate.span = f.estimate;
  return f;
}

/// A heterogeneous job is one gang, with a set of pods for each component.
bool job_facts::take_components(const job& j, milliseconds now, bool ever, facts& f,
                                std::string& problem) const {
  if (lacks_component(j)) {
    problem =
        "Slurm never starts it: it was requeued without a component that is over; cancel it, and submit it "
        "again";
    return false;
  }
  f.pods.pods = 0;
  for (const job& part : j.components) {
    const std::string whose = component_text(*part.component);
    amounts request{};
    if (!config_.governs(part.partition)) {
      problem = whose + " is for the partition \"" + part.partition + "\", which is not governed";
    } else if (part.account != j.account || part.qos != j.qos) {
      problem = whose + " has another account or QOS than the first: give all the same";
    } else if (f.sets.size() == allot::most_pod_sets) {
      problem = "it has more than " + std::to_string(allot::most_pod_sets) + " components";
    } else if (auto pods = pods_of(part, now, ever, request, problem); !pods) {
      problem = whose + ": " + problem;
    } else if (const auto set = set_of(*pods, largest_)) {
      auto& to = f.sets.emplace_back();
      to.pods = *set;
      for (std::size_t d = 0; d < dimensions; ++d)
        to.request[d] = allot::quantity::milli(request[d].in_milli() / set->pods);
      f.request += request;
      f.pods.pods += set->pods;
      continue;
    } else {
      problem = whose + ": say on how many nodes its GPUs are, as in --nodes=2 --gres=gpu:4";
    }
    return false;
  }
  if (config_.slurm.places_jobs && levels_ > 0 && f.pods.pods > 1)
    f.pods.preferred_level = static_cast<std::uint8_t>(levels_ - 1);
  return true;
}

std::optional<std::uint64_t> job_facts::pools(std::string_view partition, std::string_view constraint,
                                              const std::function<bool(const node&)>& admit) const {
  std::uint64_t all = 0;
  for (std::size_t p = 0; p < std::min<std::size_t>(pool_like_.size(), 64); ++p) {
    const node& like = pool_like_[p];
    const auto fits = satisfies(like.features, constraint);
    if (!fits) return std::nullopt;
    const bool is_in =
        std::find(like.partitions.begin(), like.partitions.end(), partition) != like.partitions.end();
    if (is_in && *fits && (!admit || admit(like))) all |= std::uint64_t{1} << p;
  }
  return all;
}

std::optional<need> job_facts::need_of(const job& j, amounts& request, std::string& problem) const {
  auto read = read_need(j.request, largest_);
  if (!read.value) {
    problem = std::move(read.problem);
    return std::nullopt;
  }
  need& n = *read.value;
  if (const std::uint32_t has = gpus_of(j); has > 0 && j.state == run_state::running) {
    n.gpus = has;
    n.is_total = n.is_total || n.gpus % n.nodes != 0;
  }
  bool counts_gpus = n.gpus == 0;
  bool has_gpu_dimension = false;
  for (std::size_t d = 0; d < config_.dimensions.size(); ++d) {
    const config::dimension& counts = config_.dimensions[d];
    switch (counts.what) {
      case config::counted::gpus:
        has_gpu_dimension = true;
        if (!counts.gpu_type.empty() && counts.gpu_type != n.gpu_type) break;
        request[d] += whole(n.gpus);
        counts_gpus = true;
        break;
      case config::counted::cpus:
        request[d] += whole(n.cpus);
        break;
      case config::counted::memory_mib:
        request[d] += whole(n.memory_mib);
        break;
      case config::counted::nodes:
        request[d] += whole(n.nodes);
        break;
    }
  }
  if (has_gpu_dimension && !counts_gpus) {
    problem = n.gpu_type.empty() ? "the quotas count GPUs by type: say which, as in --gpus=TYPE:1"
                                 : "no quota counts GPUs of the type \"" + n.gpu_type + '"';
    return std::nullopt;
  }
  return std::move(read.value);
}

std::optional<allot::gpu::pod_request> job_facts::pods_of(const job& j, milliseconds now, bool ever,
                                                          amounts& request, std::string& problem) const {
  const auto needs = need_of(j, request, problem);
  if (!needs) return std::nullopt;
  const need& n = *needs;
  allot::gpu::pod_request p;
  const auto host = [](std::uint64_t amount) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(amount, allot::gpu::max_host_amount));
  };
  const std::uint64_t parts = n.is_total ? 1 : n.nodes;
  const auto part = [&](std::uint64_t amount) { return (amount + parts - 1) / parts; };
  p.total = n.is_total;
  p.pods = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, 1'000'000));
  p.gpus = whole(part(n.gpus));
  p.cpu_milli = host(part(n.cpus) * 1000);
  p.memory_mib = host(part(n.memory_mib));
  if (!config_.slurm.places_jobs || nodes_.empty()) return p;
  std::string partition = j.partition;
  for (const std::string& governed : config_.slurm.partitions) {
    if (config_.governs(j.partition) && has_word(j.partition, governed)) {
      partition = governed;
      break;
    }
  }
  const bool waits = j.state == run_state::pending;
  const auto all = pools(partition, j.features);
  const auto free_pools =
      !reservations_.empty() && waits && !ever
          ? pools(partition, j.features, [&](const node& like) { return admits(like, j, now / 1000); })
          : all;
  const auto type = std::find(gpu_types_.begin(), gpu_types_.end(), n.gpu_type);
  if (!n.gpu_type.empty())
    p.models = type == gpu_types_.end() ? 0 : std::uint64_t{1} << (type - gpu_types_.begin());
  if (waits) {
    if (!all) {
      problem = "its constraint \"" + j.features + "\" is not understood: use names with & or |";
    } else if (*all == 0) {
      problem = "no node of its partition satisfies \"" + j.features + '"';
    } else if (p.models == 0) {
      problem = "no node has GPUs of the type \"" + n.gpu_type + '"';
    }
    if (!problem.empty()) return std::nullopt;
  }
  p.pools = free_pools.value_or(allot::gpu::all_pools);
  if (levels_ > 0 && (p.total || p.pods > 1)) {
    (j.request.on_one_switch ? p.required_level : p.preferred_level) = static_cast<std::uint8_t>(levels_ - 1);
  }
  return p;
}

}  // namespace allot_slurm
