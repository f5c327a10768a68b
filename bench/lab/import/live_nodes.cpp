// SPDX-License-Identifier: BSL-1.0
#include "lab/import/live_nodes.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <limits>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t bytes_per_mib = std::int64_t{1024} * 1024;
constexpr std::int64_t most_on_a_node = static_cast<std::int64_t>(gpu::max_gpus_per_node);

/// A node that is used up still has something: 0 would mean that it is not counted.
[[nodiscard]] std::int64_t host_amount(std::int64_t n) {
  return std::clamp<std::int64_t>(n, 1, gpu::max_host_amount);
}

/// The amount in units of `nano_amount` per unit, or -1 if it is not said.
[[nodiscard]] std::int64_t offered(const live_node& n, std::string_view resource, nano_amount unit) {
  const auto at = n.offers.find(resource);
  if (at == n.offers.end()) return -1;
  return static_cast<std::int64_t>(
      std::min<nano_amount>(at->second / unit, std::numeric_limits<std::int64_t>::max()));
}

[[nodiscard]] bool tolerates_cordon(const node_demand& d) {
  const node_taint cordon{"node.kubernetes.io/unschedulable", {}, "NoSchedule"};
  return std::any_of(d.tolerations.begin(), d.tolerations.end(),
                     [&](const node_toleration& t) { return t.tolerates(cordon); });
}

}  // namespace

void pod_need::take_host(const resource_list& request) {
  constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  if (const auto cpu = request.find("cpu"); cpu != request.end()) cpu_milli = milli_of(cpu->second);
  if (const auto bytes = request.find("memory"); bytes != request.end())
    memory = whole_of(bytes->second, most_bytes);
}

live_node read_live_node(const kubernetes_object& o, errors& found) {
  live_node n;
  n.object = &o;
  n.labels = texts_at(o.value, {"metadata", "labels"}, found);
  if (const auto spec = find_path(o.value, {"spec"}, found)) {
    n.taints = read_taints(*spec, "taints", found);
    if (const auto cordoned = find_path(*spec, {"unschedulable"}, found))
      n.is_cordoned = read_bool(*cordoned, found).value_or(false);
  }
  auto offers = find_path(o.value, {"status", "allocatable"}, found);
  if (!offers) offers = find_path(o.value, {"status", "capacity"}, found);
  if (offers) n.offers = read_resource_list(*offers, found);
  return n;
}

node_demand read_node_demand(json_value pod_spec, const resource_list& request,
                             const std::function<bool(std::string_view)>& is_device, errors& found) {
  node_demand d;
  d.selection = read_node_selection(pod_spec, found);
  d.tolerations = read_tolerations(pod_spec, found);
  for (const auto& [resource, amount] : request) {
    if (amount > 0 && resource.find('/') != std::string::npos && !is_device(resource))
      d.others.emplace(resource, amount);
  }
  return d;
}

void live_nodes::add(live_node node) {
  const std::size_t number = nodes_.size();
  const std::string& name = node.object->name;
  const auto is_too_many = [](const node_devices& d) { return d.gpus > most_on_a_node; };
  if (const auto d = std::find_if(node.devices.begin(), node.devices.end(), is_too_many);
      d != node.devices.end()) {
    return log_.note(node.object->shown(), "left out: it has " + std::to_string(d->gpus) +
                                               " GPUs (expected at most " + std::to_string(most_on_a_node) +
                                               ")");
  }
  vector<node_devices> kinds;
  for (const node_devices& d : node.devices) {
    if (d.gpus > 0) kinds.push_back(d);
  }
  if (kinds.empty()) kinds.push_back({});
  const std::int64_t cpu = offered(node, "cpu", nano / 1000);
  const std::int64_t memory = offered(node, "memory", nano);
  const std::int64_t slots = offered(node, "pods", nano);
  std::int64_t all = 0;
  for (const node_devices& d : kinds) all += d.gpus;
  // Each part has as much of its host as it has of its GPUs.
  const auto part_of = [&](std::int64_t amount, std::int64_t gpus) {
    if (kinds.size() == 1 || amount < 0) return amount;
    return static_cast<std::int64_t>(nano_amount{amount} * gpus / all);
  };
  for (const node_devices& d : kinds) {
    part p{
        number, name, d.kind, d.gpus, part_of(cpu, d.gpus), part_of(memory, d.gpus), part_of(slots, d.gpus)};
    if (kinds.size() > 1) p.name.append("/").append(d.kind.substr(d.kind.rfind('/') + 1));
    parts_of_[name].push_back(parts_.size());
    parts_.push_back(std::move(p));
  }
  if (kinds.size() > 1) {
    log_.note(node.object->shown(), "has devices of " + std::to_string(kinds.size()) +
                                        " kinds: becomes a node for each, with its part of CPU and memory");
  }
  by_name_.emplace(name, number);
  nodes_.push_back(std::move(node));
}

live_nodes::part* live_nodes::part_for(std::string_view node, std::string_view device) {
  const auto at = parts_of_.find(node);
  if (at == parts_of_.end()) return nullptr;
  for (const std::size_t p : at->second) {
    if (device.empty() || parts_[p].kind == device) return &parts_[p];
  }
  part& first = parts_[at->second.front()];
  if (first.kind.empty()) first.kind = device;
  return &first;
}

void live_nodes::take_off(std::string_view node, const pod_need& need) {
  part* const p = part_for(node, need.device);
  if (p == nullptr) return;
  p->taken_gpu_milli += need.gpu_memory_mib > 0 ? 1000 * need.devices : need.gpu_milli * need.devices;
  if (p->cpu_milli >= 0) p->cpu_milli -= std::min(p->cpu_milli, need.cpu_milli);
  if (p->memory >= 0) p->memory -= std::min(p->memory, need.memory);
  if (p->slots > 0) --p->slots;
}

std::size_t live_nodes::ask(node_demand demand, std::string_view device, const std::string& pod, bool waits) {
  const auto [at, is_new] =
      asked_numbers_.try_emplace({std::move(demand), std::string{device}}, asked_.size());
  if (is_new) asked_.push_back({at->first.first, at->first.second});
  asked_[at->second].pods.add(pod);
  asked_[at->second].has_waiting = asked_[at->second].has_waiting || waits;
  return at->second;
}

std::size_t live_nodes::stand(std::string_view node, const pod_need& need,
                              const vector<std::string>& groups) {
  part& p = *part_for(node, need.device);
  if (!need.is_shared()) p.used_gpus += need.gpu_milli / 1000;
  p.used_cpu_milli += need.cpu_milli;
  p.used_memory += need.memory_mib();
  ++p.used_slots;
  standing_.push_back({static_cast<std::size_t>(&p - parts_.data()), need, groups});
  return standing_.size() - 1;
}

void live_nodes::finish() {
  share_devices();
  fit_amounts();
  make_pools();
}

void live_nodes::share_devices() {
  vector<vector<std::size_t>> pods(parts_.size());
  for (std::size_t i = 0; i < standing_.size(); ++i) {
    if (!standing_[i].need.device.empty()) pods[standing_[i].part].push_back(i);
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto shares = [&](std::size_t pod) { return standing_[pod].need.is_shared(); };
    if (std::any_of(pods[p].begin(), pods[p].end(), shares)) share_devices_of(p, pods[p]);
  }
}

void live_nodes::share_devices_of(std::size_t p, const vector<std::size_t>& pods) {
  const std::int64_t gpu_memory = nodes_[parts_[p].node].gpu_memory_mib;
  vector<std::int64_t> used;
  std::map<std::string, std::size_t, std::less<>> device_of;
  const auto portion_of = [&](const pod_need& need) {
    if (need.gpu_memory_mib == 0) return need.gpu_milli;
    return std::min<std::int64_t>(1000, gpu::portion_of_memory(need.gpu_memory_mib, gpu_memory));
  };
  const auto take = [&](standing_pod& pod, std::int64_t portion) {
    // The first with room on which the pod is not yet.
    std::size_t d = 0;
    const auto is_taken = [&] {
      return used[d] + portion > 1000 || std::find(pod.devices.begin(), pod.devices.end(),
                                                   static_cast<std::int64_t>(d)) != pod.devices.end();
    };
    while (d < used.size() && is_taken()) ++d;
    if (d == used.size()) used.push_back(0);
    used[d] += portion;
    pod.devices.push_back(static_cast<std::int64_t>(d));
  };
  for (const bool has_groups : {true, false}) {
    for (const std::size_t i : pods) {
      standing_pod& pod = standing_[i];
      const auto wanted = static_cast<std::size_t>(pod.need.devices);
      if (!pod.need.is_shared() || (pod.groups.size() >= wanted) != has_groups) continue;
      const std::int64_t portion = portion_of(pod.need);
      for (std::size_t n = 0; n < wanted; ++n) {
        if (!has_groups) {
          take(pod, portion);
          continue;
        }
        const auto [at, is_new] = device_of.try_emplace(pod.groups[n], used.size());
        if (is_new) used.push_back(0);
        if (used[at->second] + portion > 1000) {
          log_.note(nodes_[parts_[p].node].object->shown(),
                    "the pods that share its GPU " + pod.groups[n] + " hold more than one: they get another");
          take(pod, portion);
        } else {
          used[at->second] += portion;
          pod.devices.push_back(static_cast<std::int64_t>(at->second));
        }
      }
    }
  }
  for (const std::size_t i : pods) {
    standing_pod& pod = standing_[i];
    if (pod.need.is_shared()) continue;
    for (std::int64_t n = 0; n < pod.need.gpu_milli / 1000; ++n) take(pod, 1000);
  }
  parts_[p].used_gpus = static_cast<std::int64_t>(used.size());
}

void live_nodes::fit_amounts() {
  for (part& p : parts_) {
    const live_node& n = nodes_[p.node];
    const bool is_off = !n.closed.empty() || n.is_cordoned;
    const std::int64_t left = std::max<std::int64_t>(0, p.gpus - (p.taken_gpu_milli + 999) / 1000);
    std::string more;
    const auto raise = [&](std::int64_t& has, std::int64_t used, std::int64_t slack, std::string_view what) {
      if (has < 0 || has >= used) return;
      if (used - has > slack)
        more.append(more.empty() ? "" : ", ")
            .append(std::to_string(used))
            .append(" ")
            .append(what)
            .append(" (of " + std::to_string(has) + ")");
      has = used;
    };
    p.gpus = left;
    const bool admits_some =
        n.closed.empty() && std::any_of(asked_.begin(), asked_.end(),
                                        [](const asked_nodes& a) { return tolerates_cordon(a.demand); });
    if (is_off && !admits_some) {
      // It has what its pods hold, and nothing to share out.
      if (p.cpu_milli >= 0) p.cpu_milli = p.used_cpu_milli;
      if (p.memory >= 0) p.memory = p.used_memory * bytes_per_mib;
      if (p.slots >= 0) p.slots = p.used_slots;
      p.gpus = p.used_gpus;
    }
    raise(p.gpus, p.used_gpus, 0, "gpu");
    raise(p.cpu_milli, p.used_cpu_milli, 0, "milli-CPU");
    if (p.memory >= 0) {
      p.memory /= bytes_per_mib;
      raise(p.memory, p.used_memory, p.used_slots, "MiB");
      p.memory *= bytes_per_mib;
    }
    if (p.slots >= 0 && p.slots < p.used_slots) p.slots = p.used_slots;
    if (!more.empty()) {
      log_.note(
          n.object->shown(),
          "its pods hold " + more + " besides what others take: it is taken to have that, with nothing free");
    }
    p.is_left_out = is_off && p.used_slots == 0 && !admits_some;
    if (!is_off) continue;
    const std::string why = !n.closed.empty() ? n.closed : "it is cordoned (spec.unschedulable)";
    log_.note(n.object->shown(), p.is_left_out ? "left out: " + why
                                 : admits_some
                                     ? why + ": only pods that tolerate it start there"
                                     : why + ": it has room for the pods that it has, and no others");
  }
}

bool live_nodes::admits(const asked_nodes& asked, const part& p) const {
  const live_node& n = nodes_[p.node];
  const node_demand& d = asked.demand;
  if (d.none || !n.closed.empty() || (n.is_cordoned && !tolerates_cordon(d))) return false;
  // A node without devices has no room for them, whether it is allowed or not.
  if (!asked.device.empty() && !p.kind.empty() && p.kind != asked.device) return false;
  // What has no slot left is not counted in the scenario.
  if (p.slots == 0) return false;
  if (!d.pool_label.empty()) {
    const auto at = n.labels.find(d.pool_label);
    if ((at != n.labels.end()) != d.pool.has_value() || (d.pool && at->second != *d.pool)) return false;
  }
  for (const std::string& label : d.labels) {
    if (n.labels.find(label) == n.labels.end()) return false;
  }
  for (const auto& [resource, amount] : d.others) {
    const auto at = n.offers.find(resource);
    if (at == n.offers.end() || at->second < amount) return false;
  }
  return first_untolerated(n.taints, d.tolerations) == nullptr &&
         d.selection.matches(n.labels, n.object->own_name);
}

void live_nodes::make_pools() {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].is_left_out) there_.push_back(p);
  }
  // Nodes of one class are the same to all pods so far.
  vector<std::size_t> class_of(parts_.size(), 0);
  std::size_t classes = 1;
  vector<asked_nodes*> in_order;
  for (const bool waiting : {true, false}) {
    for (asked_nodes& asked : asked_) {
      if (asked.has_waiting == waiting) in_order.push_back(&asked);
    }
  }
  named_count untold;
  for (asked_nodes* const one : in_order) {
    asked_nodes& asked = *one;
    asked.allows.assign(parts_.size(), false);
    for (const std::size_t p : there_) asked.allows[p] = admits(asked, parts_[p]);
    std::map<std::pair<std::size_t, bool>, std::size_t> split;
    vector<std::size_t> next(parts_.size(), 0);
    for (const std::size_t p : there_)
      next[p] = split.try_emplace({class_of[p], asked.allows[p]}, split.size()).first->second;
    if (split.size() > gpu::cluster::max_pools) {
      asked.is_carried = false;
      untold.add(asked.pods.first(), asked.pods.size());
      continue;
    }
    classes = std::max<std::size_t>(1, split.size());
    class_of = std::move(next);
  }
  if (!untold.empty()) {
    log_.note("Pod " + untold.names(),
              "on which nodes " + counted(untold.size(), "pod", "pods") +
                  " may run is not carried over (on all, here): this program tells " +
                  std::to_string(gpu::cluster::max_pools) + " kinds of nodes apart");
  }
  if (classes == 1) return;
  vector<std::string> names(classes);
  vector<std::size_t> members(classes, 0);
  for (const std::size_t p : there_) {
    if (members[class_of[p]]++ == 0) names[class_of[p]] = parts_[p].name;
  }
  for (const std::size_t p : there_) {
    const std::size_t c = class_of[p];
    parts_[p].pool = members[c] == 1 ? names[c] : "like " + names[c];
  }
}

std::int64_t live_nodes::gpus(std::string_view kind) const {
  std::int64_t sum = 0;
  for (const std::size_t p : there_) sum += parts_[p].kind == kind ? parts_[p].gpus : 0;
  return sum;
}

std::optional<std::int64_t> live_nodes::sum_of(std::int64_t part::*amount) const {
  std::int64_t sum = 0;
  for (const std::size_t p : there_) {
    if (parts_[p].*amount < 0) return std::nullopt;
    sum += parts_[p].*amount;
  }
  return sum;
}

vector<const kubernetes_object*> live_nodes::written() const {
  vector<const kubernetes_object*> all;
  for (const std::size_t p : there_) all.push_back(nodes_[parts_[p].node].object);
  return all;
}

std::set<std::string> live_nodes::kinds() const {
  std::set<std::string> all;
  for (const part& p : parts_) {
    if (!p.kind.empty()) all.insert(p.kind);
  }
  return all;
}

void live_nodes::write(json_writer& json, const std::function<void(std::size_t, json_writer&)>& more) const {
  json.begin_array();
  for (std::size_t i = 0; i < there_.size(); ++i) {
    const part& p = parts_[there_[i]];
    const live_node& n = nodes_[p.node];
    json.begin_object().member("name", p.name).member("gpus", std::min(p.gpus, most_on_a_node));
    if (!n.gpu_model.empty()) json.member("gpu_model", n.gpu_model);
    if (n.gpu_memory_mib > 0) json.member("gpu_memory_mib", std::min(n.gpu_memory_mib, gpu::max_host_amount));
    if (p.cpu_milli >= 0) json.member("cpu_milli", host_amount(p.cpu_milli));
    if (p.memory >= 0) json.member("memory_mib", host_amount(p.memory / bytes_per_mib));
    if (p.slots >= 0) json.member("pod_slots", host_amount(p.slots));
    if (!p.pool.empty()) json.member("pool", p.pool);
    more(i, json);
    json.end_object();
  }
  json.end_array();
}

const std::string& live_nodes::kind_of(std::size_t number) const {
  return parts_[there_[number]].kind;
}

void live_nodes::write_pools(std::size_t demand, json_writer& json) const {
  const asked_nodes& asked = asked_[demand];
  const auto allows = [&](std::size_t p) { return asked.allows[p]; };
  if (!asked.is_carried || std::all_of(there_.begin(), there_.end(), allows)) return;
  vector<std::string> pools;
  for (const std::size_t p : there_) {
    if (allows(p) && std::find(pools.begin(), pools.end(), parts_[p].pool) == pools.end())
      pools.push_back(parts_[p].pool);
  }
  json.key("node_pools").begin_array();
  for (const std::string& p : pools) json.value(p);
  json.end_array();
}

bool live_nodes::is_impossible(std::size_t demand) const {
  const asked_nodes& asked = asked_[demand];
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (asked.allows[p] && (asked.device.empty() || parts_[p].kind == asked.device)) return false;
  }
  return true;
}

const std::string& live_nodes::place_of(std::size_t pod) const {
  return parts_[standing_[pod].part].name;
}

const vector<std::int64_t>& live_nodes::devices_of(std::size_t pod) const {
  return standing_[pod].devices;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
