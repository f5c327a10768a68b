// SPDX-License-Identifier: BSL-1.0
#include "topology.hpp"

#include "api/objects.hpp"

#include "lab/import/live_nodes.hpp"
#include "lab/import/live_pods.hpp"

#include <allot/gpu/cluster.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace allot_kueue {

namespace json = boost::json;

using allot::lab::errors;
using allot::lab::json_document;
using allot_governor::node_share;

namespace {

constexpr std::string_view hostname = "kubernetes.io/hostname";
/// The machine of pods that have no place on others.
constexpr std::string_view elsewhere = "(elsewhere)";
/// Where the nodes are the only level.
constexpr std::string_view all_nodes = "cluster";
constexpr std::int64_t most_amount = allot::gpu::max_host_amount;
constexpr allot::lab::nano_amount mib = allot::lab::nano * 1024 * 1024;

[[nodiscard]] bool is_gpu(std::string_view resource) {
  return resource.ends_with("/gpu");
}

/// The object that a text is; `read(object, found)` reads it.
template <class Read>
void with_object(const std::string& text, const char* kind, errors& found, Read read) {
  const auto document = json_document::parse(kind, text, found);
  if (!document) return;
  if (const auto o = allot::lab::read_object(document->root(), found, kind)) read(*o);
}

/// Part of how a node is doing, not of what it is for.
[[nodiscard]] bool tells_state(const allot::lab::node_taint& t) {
  return t.key.starts_with("node.kubernetes.io/") && t.effect != "PreferNoSchedule";
}

/// The text that a list says of the nth domain, which may be that of all.
[[nodiscard]] std::string value_at(const json::object& level, std::size_t nth) {
  if (const json::value* const v = level.if_contains("universal")) return json::value_to<std::string>(*v);
  const json::object& each = level.at("individual").as_object();
  const auto part = [&](std::string_view key) { return std::string{text_at(each, {key})}; };
  return part("prefix") + json::value_to<std::string>(each.at("roots").as_array().at(nth)) + part("suffix");
}
[[nodiscard]] std::uint32_t count_at(const json::object& counts, std::size_t nth) {
  if (const json::value* const v = counts.if_contains("universal")) return v->to_number<std::uint32_t>();
  return counts.at("individual").as_array().at(nth).to_number<std::uint32_t>();
}

/// The nodes of an assignment and how many pods each has, in the order of the pods; none if it is not one of
/// nodes.
[[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> read_assignment(
    const json::value& assigned) {
  std::vector<std::pair<std::string, std::uint32_t>> all;
  try {
    const json::array& levels = assigned.at("levels").as_array();
    if (levels.empty() || levels.back().as_string() != hostname) return {};
    for (const json::value& slice : assigned.at("slices").as_array()) {
      const auto domains = slice.at("domainCount").to_number<std::size_t>();
      const json::object& names = slice.at("valuesPerLevel").as_array().at(levels.size() - 1).as_object();
      for (std::size_t d = 0; d < domains; ++d)
        all.emplace_back(value_at(names, d), count_at(slice.at("podCounts").as_object(), d));
    }
  } catch (const std::exception&) {
    // The API server would not have taken it.
    return {};
  }
  return all;
}

}  // namespace

// Amounts.

void topology::amounts::add(const amounts& other, std::int64_t times) {
  gpus += other.gpus * static_cast<std::uint32_t>(times);
  cpu_milli = std::min(cpu_milli + other.cpu_milli * times, most_amount);
  memory_mib = std::min(memory_mib + other.memory_mib * times, most_amount);
}

topology::amounts topology::amounts::at_most(const amounts& most) const {
  return {std::min(gpus, most.gpus), std::min(cpu_milli, most.cpu_milli),
          std::min(memory_mib, most.memory_mib)};
}
topology::amounts topology::amounts::without(const amounts& some) const {
  return {gpus - std::min(gpus, some.gpus), std::max<std::int64_t>(0, cpu_milli - some.cpu_milli),
          std::max<std::int64_t>(0, memory_mib - some.memory_mib)};
}

std::string topology::amounts::text() const {
  return std::to_string(gpus) + ' ' + std::to_string(cpu_milli) + ' ' + std::to_string(memory_mib);
}

topology::amounts topology::amounts_of(const allot::lab::resource_list& request) {
  amounts a;
  for (const auto& [resource, amount] : request) {
    if (is_gpu(resource))
      a.gpus += static_cast<std::uint32_t>(allot::lab::whole_of(amount, allot::gpu::max_gpus_per_node + 1));
    if (resource == "cpu") a.cpu_milli = std::min(allot::lab::milli_of(amount), most_amount);
    if (resource == "memory")
      a.memory_mib = std::min<std::int64_t>(allot::lab::milli_of(amount, mib * 1000), most_amount);
  }
  return a;
}

topology::need topology::need_of(const allot::lab::kueue_pod_set& s) {
  need n{amounts_of(s.request), {s.needs.nodes, s.needs.tolerations, {}}, {}};
  for (const auto& [resource, amount] : s.request) {
    if (amount == 0 || resource == "cpu" || resource == "memory" || resource == "pods") continue;
    if (!is_gpu(resource) || !n.of.device.empty()) {
      n.problem = "its pod set " + s.name + " asks for " + resource +
                  ", and allot-kueue counts GPUs of one kind, CPU and memory on nodes";
    }
    n.of.device = resource;
  }
  return n;
}

// What is configured.

bool topology::configure(const names& flavors, const texts& all_flavors, const texts& all_topologies) {
  std::map<std::string, std::vector<std::string>, std::less<>> levels;
  std::string read;
  errors found;
  all_topologies([&](const std::string& name, const std::string& text) {
    with_object(text, "Topology", found, [&](const auto& o) {
      auto& of = levels[name];
      for (const auto& level : allot::lab::elements_at(o.value, {"spec", "levels"}, found))
        of.push_back(allot::lab::text_at(level, {"nodeLabel"}, found));
    });
    read += text;
  });
  std::map<std::string, flavor, std::less<>> now;
  std::vector<std::string> labels;
  std::string first;
  all_flavors([&](const std::string& name, const std::string& text) {
    if (flavors.count(name) == 0) return;
    with_object(text, "ResourceFlavor", found, [&](const auto& o) {
      const std::string of = allot::lab::text_at(o.value, {"spec", "topologyName"}, found);
      if (of.empty()) return;
      flavor& f = now[name];
      f.labels = allot::lab::texts_at(o.value, {"spec", "nodeLabels"}, found);
      if (const auto spec = allot::lab::find_path(o.value, {"spec"}, found))
        f.tolerations = allot::lab::read_tolerations(*spec, found);
      const auto at = levels.find(of);
      if (at == levels.end()) {
        f.problem = "the topology " + of + " of the flavor " + name + " does not exist";
      } else if (at->second.empty() || at->second.back() != hostname) {
        f.problem = "the lowest level of the topology " + of + " of the flavor " + name + " is not " +
                    std::string{hostname} + ": allot-kueue assigns nodes";
      } else if (labels.empty()) {
        labels = at->second;
        first = name;
      } else if (labels != at->second) {
        f.problem = "the topology of the flavor " + name + " has other levels than that of the flavor " +
                    first + ": allot-kueue knows one set of levels at a time";
      }
    });
    read += text;
  });
  for (const std::string& f : flavors) read += ' ' + f;
  if (read == configured_) return false;
  configured_ = std::move(read);
  flavors_ = std::move(now);
  labels_ = std::move(labels);
  is_sorted_ = false;
  must_ask_again_ = true;
  return true;
}

std::vector<std::string> topology::levels() const {
  if (!is_needed()) return {};
  if (labels_.size() < 2) return {std::string{all_nodes}};
  return {labels_.begin(), labels_.end() - 1};
}

std::uint8_t topology::level(std::string_view label) const {
  const auto at = std::find(labels_.begin(), labels_.end(), label);
  return static_cast<std::uint8_t>(label == hostname ? levels().size()
                                                     : static_cast<std::size_t>(at - labels_.begin()));
}

// Nodes and pods.

void topology::set_node(const std::string& name, const std::string& text) {
  errors found;
  with_object(text, "Node", found, [&](const auto& o) {
    const allot::lab::live_node read = allot::lab::read_live_node(o, found);
    node n{read.labels, read.taints, amounts_of(read.offers), 0, {}, {}, {}};
    const auto offered = [&](std::string_view resource) {
      const auto at = read.offers.find(resource);
      return at == read.offers.end() ? allot::lab::nano_amount{} : at->second;
    };
    // Whole ones, and at least 1: what is 0 is not counted.
    const auto at_most = [](allot::lab::nano_amount amount) {
      return static_cast<std::int64_t>(std::clamp<allot::lab::nano_amount>(amount, 1, most_amount));
    };
    n.has.cpu_milli = at_most(offered("cpu") / (allot::lab::nano / 1000));
    n.has.memory_mib = at_most(offered("memory") / mib);
    n.pod_slots = static_cast<std::uint32_t>(at_most(offered("pods") / allot::lab::nano));
    for (const auto& [resource, amount] : read.offers) {
      if (!is_gpu(resource) || amount == 0) continue;
      if (!n.device.empty()) n.problem = "it has GPUs of two kinds";
      n.device = resource;
    }
    if (n.has.gpus > allot::gpu::max_gpus_per_node)
      n.problem = "it has more than " + std::to_string(allot::gpu::max_gpus_per_node) + " GPUs";
    const auto ready = allot::lab::find_condition(o.value, "Ready", found);
    const auto state = std::find_if(n.taints.begin(), n.taints.end(), tells_state);
    if (state != n.taints.end()) n.closed = "it has the taint " + state->shown();
    if (read.is_cordoned) n.closed = "it is cordoned";
    if (!ready || !ready->is_true) n.closed = "it is not ready";
    erase_if(n.taints, tells_state);
    nodes_[name] = std::move(n);
  });
  if (!found.empty()) nodes_.erase(name);
  is_sorted_ = is_usage_known_ = false;
}

void topology::remove_node(const std::string& name) {
  nodes_.erase(name);
  is_sorted_ = is_usage_known_ = false;
}

void topology::set_pod(const std::string& name, const std::string& text) {
  std::optional<pod> now;
  errors found;
  with_object(text, "Pod", found, [&](const auto& o) {
    const allot::lab::pod_facts p = allot::lab::read_pod_facts(o, found);
    if (p.node.empty() || p.stage == allot::lab::pod_stage::ended) return;
    const auto notes = allot::lab::texts_at(o.value, {"metadata", "annotations"}, found);
    const auto workload = notes.find("kueue.x-k8s.io/workload");
    now = pod{p.node, workload == notes.end() ? std::string{} : o.space + '/' + workload->second,
              amounts_of(p.request)};
  });
  const auto at = pods_.find(name);
  if (!now) return remove_pod(name);
  if (at != pods_.end() && at->second.node == now->node && at->second.uses == now->uses) return;
  pods_[name] = std::move(*now);
  is_usage_known_ = false;
}

void topology::remove_pod(const std::string& name) {
  if (pods_.erase(name) != 0) is_usage_known_ = false;
}

void topology::forget_all() {
  nodes_.clear();
  pods_.clear();
  is_sorted_ = is_usage_known_ = false;
}

// Pools: nodes that the same pods may use.

bool topology::admits(const node& n, const flavor& f, const demand& d) const {
  if (!f.problem.empty() || (!d.device.empty() && d.device != n.device)) return false;
  const auto has = [&](const auto& label) {
    const auto at = n.labels.find(label.first);
    return at != n.labels.end() && at->second == label.second;
  };
  if (!std::all_of(f.labels.begin(), f.labels.end(), has)) return false;
  allot::vector<allot::lab::node_toleration> tolerations = d.tolerations;
  for (const auto& t : f.tolerations) tolerations.push_back(t);
  if (allot::lab::first_untolerated(n.taints, tolerations) != nullptr) return false;
  return d.selection.matches(n.labels, n.labels.find(hostname)->second);
}

bool topology::sort() {
  const std::size_t most = allot::gpu::cluster::max_pools;
  is_sorted_ = true;
  const auto named_before = std::exchange(node_named_, {});
  notes_.clear();
  for (const auto& [name, f] : flavors_) {
    if (!f.problem.empty()) notes_.push_back("ResourceFlavor " + name + ": " + f.problem);
  }
  const auto pools_before = std::exchange(pools_, {{}});
  machines_.clear();
  machines_.push_back({.is = {.name = std::string{elsewhere}, .pool = "0"}});
  bool fits = true;
  for (const auto& [name, n] : nodes_) {
    std::vector<std::string> domains;
    for (const std::string& label : labels_) {
      if (const auto at = n.labels.find(label); at != n.labels.end()) domains.push_back(at->second);
    }
    // As in Kueue such a one is in no flavor with a topology.
    if (labels_.empty() || domains.size() != labels_.size()) continue;
    std::set<std::pair<std::string, std::size_t>> uses;
    for (const auto& [flavor_name, f] : flavors_) {
      for (std::size_t d = 0; d < demands_.size(); ++d) {
        if (admits(n, f, demands_[d])) uses.emplace(flavor_name, d);
      }
    }
    if (!n.problem.empty()) {
      notes_.push_back("Node " + name + " is left out: " + n.problem);
      continue;
    }
    const auto pool =
        static_cast<std::size_t>(std::find(pools_.begin() + 1, pools_.end(), uses) - pools_.begin());
    if (pool == most) {
      fits = false;
      notes_.push_back("Node " + name + " is left out: there are too many kinds of nodes");
      continue;
    }
    if (pool == pools_.size()) pools_.push_back(std::move(uses));
    node_named_[domains.back()] = name;
    domains.pop_back();
    if (domains.empty()) domains.emplace_back(all_nodes);
    allot_governor::machine_report m{.is = {.name = name,
                                            .gpus = n.has.gpus,
                                            .cpus = static_cast<std::uint32_t>(n.has.cpu_milli / 1000),
                                            .memory_mib = static_cast<std::uint64_t>(n.has.memory_mib),
                                            .pool = std::to_string(pool),
                                            .domains = std::move(domains),
                                            .cpu_milli = static_cast<std::uint32_t>(n.has.cpu_milli % 1000),
                                            .pod_slots = n.pod_slots},
                                     .is_open = n.closed.empty()};
    if (!m.is_open) {
      m.state = "down";
      m.why = n.closed;
    }
    machines_.push_back(std::move(m));
  }
  const auto known = [&](const auto& all, std::size_t p, std::size_t demands) {
    auto some = all[p];
    std::erase_if(some, [&](const auto& use) { return use.second >= demands; });
    return some;
  };
  // What was asked before means the same pools, unless these have changed.
  must_ask_again_ = must_ask_again_ || pools_.size() != pools_before.size() || node_named_ != named_before;
  for (std::size_t p = 0; !must_ask_again_ && p < pools_.size(); ++p)
    must_ask_again_ = known(pools_, p, demands_sorted_) != known(pools_before, p, demands_sorted_);
  demands_sorted_ = demands_.size();
  return fits;
}

void topology::begin_demands() {
  demands_.clear();
  demands_sorted_ = 0;
  is_sorted_ = false;
}

bool topology::sort_into_pools() {
  if (!is_sorted_) sort();
  return std::exchange(must_ask_again_, false);
}

std::optional<std::size_t> topology::number_of(const demand& d) {
  const auto at = std::find(demands_.begin(), demands_.end(), d);
  if (at != demands_.end()) return static_cast<std::size_t>(at - demands_.begin());
  demands_.push_back(d);
  if (sort()) return demands_.size() - 1;
  demands_.pop_back();
  demands_sorted_ = std::min(demands_sorted_, demands_.size());
  sort();
  return std::nullopt;
}

std::uint64_t topology::pools(const std::string& flavor_name, std::size_t of_demand) const {
  std::uint64_t all = 0;
  for (std::size_t p = 1; p < pools_.size(); ++p) {
    if (pools_[p].count({flavor_name, of_demand}) != 0) all |= std::uint64_t{1} << p;
  }
  return all;
}

// What Workloads ask for.

allot::gpu::pod_request topology::request_of(const amounts& each) {
  allot::gpu::pod_request r;
  r.gpus = allot::quantity::whole(each.gpus);
  r.cpu_milli = each.cpu_milli;
  r.memory_mib = each.memory_mib;
  return r;
}

std::string topology::ask_for_levels(allot::gpu::pod_set& to,
                                     const allot::lab::kueue_topology_request& asked) const {
  for (const std::string& label : asked.levels) {
    if (std::find(labels_.begin(), labels_.end(), label) == labels_.end())
      return "its topology has no level " + label;
  }
  if (asked.has_layers) return "it asks for slices in slices, which allot-kueue does not place";
  if (!asked.required.empty()) to.each.required_level = level(asked.required);
  if (!asked.preferred.empty()) to.each.preferred_level = level(asked.preferred);
  if (asked.slice_level.empty()) return {};
  if (asked.slice == 0) return "it asks for slices and does not say of how many pods";
  to.slice = static_cast<std::uint32_t>(asked.slice);
  to.slice_level = level(asked.slice_level);
  const std::uint8_t of_all = std::min(to.each.required_level, to.each.preferred_level);
  if (of_all != allot::gpu::any_level && to.slice_level < of_all)
    return "the level of its slices, " + asked.slice_level + ", is above that of all its pods";
  return {};
}

/// Whether its pods are placed on nodes.
topology::set_answer topology::ask_for_set(allot::lab::pod_set_entry& to, const allot::lab::kueue_pod_set& s,
                                           const allot::lab::kueue_assignment& first) {
  const auto refuse = [](std::string why) { return set_answer{false, std::move(why)}; };
  const auto find = [&](const std::string& f) { return flavors_.find(f); };
  // Those among which it chooses, or the one that it gets anyway.
  std::vector<allot::lab::flavor_group*> groups;
  names chosen;
  for (allot::lab::flavor_group& g : to.flavors) {
    for (const auto& o : g.options) {
      chosen.insert(o.name);
      if (find(o.name) != flavors_.end() && (groups.empty() || groups.back() != &g)) groups.push_back(&g);
    }
  }
  names fixed;
  for (const auto& [resource, has] : first.resources) {
    if (find(has.flavor) != flavors_.end() && chosen.count(has.flavor) == 0) fixed.insert(has.flavor);
  }
  to.pods.min_pods = 0;
  if (groups.empty() && fixed.empty()) {
    to.pods.each.pools = 1;
    return {};
  }
  const auto has_gpus = [](const allot::lab::flavor_group& g) {
    return std::find(g.resources.begin(), g.resources.end(), "gpu") != g.resources.end();
  };
  const bool decides = groups.empty() || has_gpus(*groups.front()) ||
                       std::none_of(to.flavors.begin(), to.flavors.end(), has_gpus);
  if (groups.size() + fixed.size() > 1 || !decides) {
    return refuse("its pod set " + s.name +
                  " would get several flavors, and not that of its GPUs alone has a topology");
  }
  need n = need_of(s);
  if (!n.problem.empty()) return refuse(std::move(n.problem));
  const auto asked = number_of(n.of);
  if (!asked) return refuse("Workloads ask for nodes in more ways than allot-kueue can tell apart");
  to.pods.each = request_of(n.each);
  std::string problem;
  bool is_any = false;
  bool has_nodes = false;
  const auto pools_of = [&](const std::string& name) -> std::uint64_t {
    const auto f = find(name);
    if (f == flavors_.end()) return 0;
    if (!f->second.problem.empty()) problem = f->second.problem;
    is_any = is_any || f->second.problem.empty();
    const std::uint64_t some = pools(name, *asked);
    has_nodes = has_nodes || some != 0;
    return some;
  };
  if (groups.empty()) {
    to.pods.each.pools = pools_of(*fixed.begin());
  } else {
    for (auto& o : groups.front()->options) o.pools = pools_of(o.name);
  }
  if (!is_any) return refuse(std::move(problem));
  if (!has_nodes) {
    return refuse("no node of its flavors has the labels, taints and GPUs that its pod set " + s.name +
                  " asks for");
  }
  if (std::string why = ask_for_levels(to.pods, s.needs.topology); !why.empty())
    return refuse(std::move(why));
  return {true, {}};
}

/// Pods that are alike become a set, so that their places are told pod by pod.
void topology::make_set(allot_governor::facts& f) {
  if (!f.sets.empty() || f.pods.total) return;
  auto& s = f.sets.emplace_back();
  s.name = "1";
  s.pods.pods = f.pods.pods;
  s.flavors = std::exchange(f.flavors, {});
  for (std::size_t d = 0; d < allot_governor::dimensions; ++d)
    s.request[d] = allot::quantity::milli(f.request[d].in_milli() / std::int64_t{f.pods.pods});
}

/// What of the request is not of the nodes.
void topology::clear_needs(allot_governor::facts& f) {
  const allot::gpu::pod_request was = std::exchange(f.pods, {});
  f.pods.pods = was.pods;
  f.pods.total = was.total;
  f.pods.estimate = was.estimate;
  for (auto& s : f.sets) s.pods = {.each = {}, .pods = s.pods.pods, .min_pods = s.pods.min_pods};
}
void topology::send_elsewhere(allot_governor::facts& f) {
  clear_needs(f);
  f.pods.pools = 1;
  for (auto& s : f.sets) s.pods.each.pools = 1;
}

std::string topology::ask(allot_governor::facts& to, const allot::lab::kueue_reading& of,
                          std::span<const allot::lab::kueue_assignment> first) {
  allot_governor::facts f = to;
  make_set(f);
  clear_needs(f);
  f.min_pods = 0;
  std::vector<const allot::lab::kueue_pod_set*> sets;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < of.pod_sets.size() && i < first.size(); ++i) {
    const allot::lab::kueue_pod_set& s = of.pod_sets[i];
    if (s.pods == 0) continue;
    const std::size_t nth = sets.size();
    sets.push_back(&s);
    if (nth >= f.sets.size()) continue;
    set_answer answer = ask_for_set(f.sets[nth], s, first[i]);
    if (!answer.why_not.empty()) return std::move(answer.why_not);
    placed += answer.is_placed ? 1U : 0U;
  }
  if (sets.size() != f.sets.size() && of.has_topology)
    return "its pod sets, or the flavors that they choose, are too many to be placed";
  if (placed == 0) {
    send_elsewhere(to);
    return {};
  }
  const auto leader =
      std::find_if(sets.begin(), sets.end(), [](const auto* s) { return !s->needs.topology.group.empty(); });
  if (leader != sets.end() && sets.size() > 1) {
    const bool are_all = std::all_of(sets.begin(), sets.end(), [&](const auto* s) {
      return s->needs.topology.group == (*leader)->needs.topology.group;
    });
    if (!are_all || placed != sets.size())
      return "allot-kueue places no group of pod sets beside other pod sets";
    // As in Kueue, what the larger set asks for is for all of them.
    const auto& asked = (*std::max_element(sets.begin(), sets.end(), [](const auto* a, const auto* b) {
                          return a->pods < b->pods;
                        }))->needs.topology;
    if (!asked.required.empty()) f.pods.required_level = level(asked.required);
    if (!asked.preferred.empty()) f.pods.preferred_level = level(asked.preferred);
    for (auto& s : f.sets) s.pods.each.required_level = s.pods.each.preferred_level = allot::gpu::any_level;
  }
  to = std::move(f);
  return {};
}

// What they have.

void topology::stand(allot_governor::facts& to, std::vector<node_share>& where, const std::string& name,
                     const allot::lab::kueue_reading& of, const json::array& assignments) {
  std::map<std::string_view, std::vector<std::pair<std::string, std::uint32_t>>> assigned;
  for (const json::value& a : assignments) {
    const json::object* const o = a.if_object();
    const json::value* const t = o == nullptr ? nullptr : o->if_contains("topologyAssignment");
    if (t == nullptr) continue;
    if (auto nodes = read_assignment(*t); !nodes.empty()) assigned[text_at(*o, {"name"})] = std::move(nodes);
  }
  where.clear();
  if (assigned.empty()) {
    send_elsewhere(to);
    return leave(name);
  }
  make_set(to);
  clear_needs(to);
  std::map<std::string, amounts, std::less<>> places;
  amounts all;
  std::size_t nth = 0;
  for (const allot::lab::kueue_pod_set& s : of.pod_sets) {
    if (s.running_pods == 0) continue;
    const amounts each = amounts_of(s.request);
    const auto at = assigned.find(s.name);
    if (nth < to.sets.size()) {
      auto& pods = to.sets[nth++].pods;
      if (at != assigned.end()) pods.each = request_of(each);
    }
    if (at == assigned.end()) {
      const auto pods = static_cast<std::size_t>(s.running_pods);
      where.insert(where.end(), pods, {std::string{elsewhere}, 0, 0});
      continue;
    }
    for (const auto& [host, pods] : at->second) {
      const auto known = node_named_.find(host);
      const std::string& on = known == node_named_.end() ? host : known->second;
      where.insert(where.end(), pods,
                   {on, each.gpus, static_cast<std::uint32_t>((each.cpu_milli + 999) / 1000)});
      places[on].add(each, pods);
      all.add(each, pods);
    }
  }
  if (to.pods.total) {
    to.pods.cpu_milli = all.cpu_milli;
    to.pods.memory_mib = all.memory_mib;
  }
  auto& kept = places_[name];
  if (kept == places) return;
  kept = std::move(places);
  is_usage_known_ = false;
}

bool topology::has_pods(const std::string& name) const {
  const auto at = places_.find(name);
  if (at == places_.end()) return false;
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& p) {
    if (p.second.workload != name || at->second.find(p.second.node) == at->second.end()) return false;
    // Of a node that is down nobody knows when they go.
    const auto on = nodes_.find(p.second.node);
    return on != nodes_.end() && on->second.closed.empty();
  });
}

void topology::leave(const std::string& name) {
  if (places_.erase(name) != 0) is_usage_known_ = false;
}

bool topology::assign(json::array& assignments, const allot_governor::facts& asked,
                      const allot_governor::decision::admission& a) const {
  const auto has_place = [](const node_share& s) { return s.node != elsewhere; };
  if (std::none_of(a.where.begin(), a.where.end(), has_place)) return true;
  using path = std::vector<std::string>;
  std::size_t next = 0;
  std::size_t nth = 0;
  for (json::value& v : assignments) {
    const auto count = v.at("count").to_number<std::size_t>();
    if (count == 0) continue;
    if (next + count > a.where.size() || nth == asked.sets.size()) return false;
    const std::span pods{a.where.data() + next, count};
    next += count;
    const allot::gpu::pod_set& of = asked.sets[nth++].pods;
    if (!has_place(pods.front())) continue;
    // Pods of consecutive ranks are a slice, so what is together stays together; a slice that is not full is
    // the last one.
    const std::size_t depth =
        of.slice == 0 ? 0 : std::min<std::size_t>(labels_.size(), std::size_t{of.slice_level} + 1);
    std::map<std::pair<bool, path>, std::map<path, std::uint32_t>> groups;
    std::map<path, std::uint32_t> in_group;
    const auto path_of = [&](const node_share& s) {
      path p;
      for (const std::string& label : labels_)
        p.push_back(nodes_.find(s.node)->second.labels.find(label)->second);
      return p;
    };
    for (const node_share& s : pods) {
      if (nodes_.count(s.node) == 0) return false;
      path p = path_of(s);
      p.resize(depth);
      ++in_group[p];
    }
    for (const node_share& s : pods) {
      path top = path_of(s);
      top.resize(depth);
      const bool is_partial = of.slice != 0 && in_group[top] % of.slice != 0;
      ++groups[{is_partial, top}][path_of(s)];
    }
    json::array hosts;
    json::array counts;
    for (const auto& group : groups) {
      for (const auto& [p, n] : group.second) {
        hosts.emplace_back(p.back());
        counts.emplace_back(n);
      }
    }
    const std::size_t domains = hosts.size();
    v.get_object()["topologyAssignment"] = json::object{
        {"levels", {hostname}},
        {"slices",
         json::array{json::object{
             {"domainCount", domains},
             {"valuesPerLevel", json::array{json::object{{"individual", {{"roots", std::move(hosts)}}}}}},
             {"podCounts", {{"individual", std::move(counts)}}}}}}};
  }
  return next == a.where.size();
}

// What others use.

void topology::tell_usage(allot_governor::changes& to) {
  if (!is_needed() || std::exchange(is_usage_known_, true)) return;
  std::map<std::string_view, amounts> used;
  std::map<std::string_view, amounts> placed;
  for (const auto& [name, places] : places_) {
    for (const auto& [on, has] : places) placed[on].add(has);
  }
  for (const auto& [name, p] : pods_) {
    const auto of = places_.find(p.workload);
    if (of == places_.end() || of->second.find(p.node) == of->second.end()) used[p.node].add(p.uses);
  }
  for (const auto& [name, n] : nodes_) {
    const std::string job = "pods on " + name;
    // What has no room beside its jobs waits for it, as kube-scheduler has it, or they do.
    const amounts of = used[name].at_most(n.has.without(placed[name]));
    std::string text = of.is_none() ? std::string{} : of.text() + " (" + std::to_string(tellings_) + ')';
    const auto told = told_.find(job);
    if (told == told_.end() ? text.empty() : told->second == text) continue;
    if (text.empty()) {
      to.gone.push_back(job);
      told_.erase(told);
      continue;
    }
    told_[job] = text;
    allot_governor::job_report j{.name = job, .uid = text, .at = allot_governor::job_report::stage::running};
    j.is_governed = false;
    j.what.emplace().pods = request_of(of);
    j.where.push_back({name, of.gpus, static_cast<std::uint32_t>((of.cpu_milli + 999) / 1000)});
    to.jobs.push_back(std::move(j));
  }
  std::erase_if(told_, [&](const auto& t) {
    const bool is_gone = nodes_.find(t.first.substr(std::string_view{"pods on "}.size())) == nodes_.end();
    if (is_gone) to.gone.push_back(t.first);
    return is_gone;
  });
}

}  // namespace allot_kueue
