// SPDX-License-Identifier: BSL-1.0
#include "governor/src/where.hpp"

#include <allot/gpu/topology/topology_builder.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace allot_governor {

using allot::gpu::allocation_id;
using allot::gpu::node_id;
using allot::gpu::pod_location;
using allot::gpu::pod_request;

namespace {

constexpr std::int64_t max_amount = allot::gpu::max_host_amount;

[[nodiscard]] allot::gpu::node_spec spec_of(const machine& m, const std::vector<std::string>& levels) {
  allot::gpu::node_spec s;
  s.name = m.name;
  s.gpus = m.gpus;
  s.gpu_model = m.gpu_type;
  s.cpu_milli = std::min<std::int64_t>(std::int64_t{m.cpus} * 1000 + m.cpu_milli, max_amount);
  s.memory_mib = static_cast<std::int64_t>(std::min<std::uint64_t>(m.memory_mib, max_amount));
  s.pod_slots = m.pod_slots;
  s.pool = m.pool;
  for (std::size_t l = 0; l < levels.size() && l < m.domains.size(); ++l)
    s.labels.push_back({levels[l], m.domains[l]});
  return s;
}

[[nodiscard]] std::optional<allocation_id> try_take(const host_places& places, const place_taker& take_place,
                                                    const std::vector<node_share>& where,
                                                    std::int64_t cpu_milli, std::int64_t memory_mib,
                                                    bool with_gpus) {
  const auto& inventory = places.inventory();
  pod_request d;
  std::vector<pod_location> at;
  std::int64_t gpus = 0;
  for (const node_share& s : where) {
    const auto n = inventory.layout().find(s.node);
    if (!n) continue;
    const std::uint32_t here = with_gpus ? s.gpus : 0;
    pod_location& location = at.emplace_back();
    location.node = *n;
    if (here == 0) continue;
    allot::gpu::pod_shape pod;
    pod.devices = here;
    const auto devices = inventory.index().choose_devices(*n, pod);
    if (!devices) return std::nullopt;
    location.devices = *devices;
    gpus += here;
  }
  if (at.empty()) return std::nullopt;
  d.cpu_milli = cpu_milli;
  d.memory_mib = memory_mib;
  if (gpus > 0) {
    // Each node has the GPUs that are named; one without any is not worth a pod.
    std::erase_if(at, [](const pod_location& l) { return l.devices == 0; });
    d.gpus = allot::quantity::whole(gpus);
    d.total = true;
  } else {
    d.pods = static_cast<std::uint32_t>(at.size());
    d.cpu_milli = cpu_milli / d.pods;
    d.memory_mib = memory_mib / d.pods;
  }
  return take_place(d, at);
}

/// The place of pods in sets, one on each of these nodes: the first set's first.
[[nodiscard]] std::optional<allocation_id> try_take_sets(const host_places& places,
                                                         const place_taker& take_place,
                                                         const std::vector<node_share>& where,
                                                         const pod_request& asked) {
  if (asked.sets.empty()) return std::nullopt;
  std::vector<pod_location> at;
  for (const node_share& s : where) {
    if (const auto n = places.inventory().layout().find(s.node)) at.push_back({*n});
  }
  return take_place(asked, at);
}

/// Each node once, in the order of their names.
[[nodiscard]] std::vector<node_share> by_node(const std::vector<node_share>& where) {
  std::map<std::string, node_share> all;
  for (const node_share& s : where) {
    node_share& to = all[s.node];
    to.node = s.node;
    to.gpus += s.gpus;
    to.cpus += s.cpus;
  }
  std::vector<node_share> each;
  for (auto& [name, s] : all) each.push_back(std::move(s));
  return each;
}

}  // namespace

allot::result<host_places> places_of(const engine_setup& setup) {
  std::vector<allot::gpu::node_spec> specs;
  for (const machine& m : setup.machines) specs.push_back(spec_of(m, setup.levels));
  auto layout = allot::gpu::build_cluster(std::move(specs));
  if (!layout) return layout.problems();
  const allot::gpu::cluster& built = layout.value();
  const allot::gpu::any_placement policy{setup.quotas.placement, built, {}, setup.quotas.seed};
  host_places places{built, policy};
  if (!setup.levels.empty()) {
    auto near = allot::gpu::topology_from_labels(built, {setup.levels.begin(), setup.levels.end()},
                                                 {.allow_outside = true});
    if (!near) return near.problems();
    places = host_places{built, std::move(near).value(), policy};
  }
  places.keep_apart(setup.one_pod_a_machine);
  return places;
}

allot::quantity total_of(std::string_view resource, const engine_setup& setup) {
  if (setup.has_other_machines) return allot::quantity::unlimited();
  const std::size_t slash = resource.rfind('/');
  const std::string_view plain = slash == std::string_view::npos ? resource : resource.substr(slash + 1);
  const std::string_view type = slash == std::string_view::npos ? "" : resource.substr(0, slash);
  std::int64_t sum = 0;
  for (const machine& m : setup.machines) {
    if (plain == "gpu" && (type.empty() || type == m.gpu_type)) sum += m.gpus;
    if (plain == "cpu") sum += m.cpus;
    if (plain == "memory_mib") sum += static_cast<std::int64_t>(m.memory_mib);
    if (plain == "node") sum += 1;
  }
  const bool is_known = plain == "gpu" || plain == "cpu" || plain == "memory_mib" || plain == "node";
  return is_known && !setup.machines.empty() ? allot::quantity::whole(sum) : allot::quantity::unlimited();
}

allocation_id take(const host_places& places, host_places::host_nodes nodes, const place_taker& take_place,
                   const std::vector<node_share>& where, const pod_request& asked) {
  if (!places.has_nodes()) return {};
  const auto& inventory = places.inventory();
  std::vector<node_id> closed;
  for (const node_share& s : where) {
    const auto n = inventory.layout().find(s.node);
    if (!n || !inventory.is_closed(*n)) continue;
    closed.push_back(*n);
    nodes.reopen(*n);
  }
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  const auto add = [&](const pod_request& each, std::int64_t pods) {
    cpu = std::min(cpu + each.cpu_milli * pods, max_amount);
    memory = std::min(memory + each.memory_mib * pods, max_amount);
  };
  for (const allot::gpu::pod_set& s : asked.sets) add(s.each, s.pods);
  if (asked.sets.empty()) add(asked, asked.total ? 1 : asked.pods);
  const auto attempt = [&](const std::vector<node_share>& on, std::int64_t cpu_milli, std::int64_t memory_mib,
                           bool with_gpus) {
    return try_take(places, take_place, on, cpu_milli, memory_mib, with_gpus);
  };
  auto at = try_take_sets(places, take_place, where, asked);
  const std::vector<node_share> each = by_node(where);
  if (!at) at = attempt(each, cpu, memory, true);
  if (!at) at = attempt(each, 0, 0, true);
  if (!at) at = attempt(each, 0, 0, false);
  for (const node_id n : closed) nodes.close(n);
  // On no node that is known: it holds nothing.
  for (std::size_t n = 0; !at && n < inventory.layout().size(); ++n) {
    at = attempt({{inventory.layout().name(node_id{n})}}, 0, 0, false);
  }
  return at.value_or(allocation_id{});
}

std::vector<node_share> shares_of(const host_places& places, allocation_id a, bool by_pod) {
  std::vector<node_share> all;
  if (!places.has_nodes()) return all;
  for (const allot::gpu::placed_pod& p : places.inventory().pods(a)) {
    const std::string& name = places.inventory().layout().name(p.where.node);
    const auto gpus = static_cast<std::uint32_t>(std::popcount(p.where.devices));
    const auto cpus = static_cast<std::uint32_t>((p.cpu_milli + 999) / 1000);
    all.push_back({name, gpus, cpus});
  }
  return by_pod ? all : by_node(all);
}

}  // namespace allot_governor
