// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/scenario/scenario_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

void scenario_reader::read_resources(json_object& top) {
  const auto value = top.find("resources");
  if (!value) {
    to_.resources = {"gpu"};
    return;
  }
  if (!expect_array(*value, found_)) return;
  value->for_each([&](json_value element) {
    auto name = read_string(element, found_);
    if (!name) return;
    const bool lacks_flavor = name->find('/') != std::string::npos && flavor_of(*name).empty();
    if (name->empty() || *name == "percent" || name->substr(0, 2) == "x-" || lacks_flavor ||
        plain_name(*name).empty()) {
      element.report(found_, "expected the name of a resource, found " + element.shown());
    } else if (std::find(to_.resources.begin(), to_.resources.end(), *name) != to_.resources.end()) {
      element.report(found_, "the resource \"" + *name + "\" is there twice");
    } else {
      to_.resources.push_back(std::move(*name));
    }
  });
  if (to_.resources.size() > max_resources) {
    value->report(found_, "there are " + std::to_string(to_.resources.size()) +
                              " resources: this program can count " + std::to_string(max_resources));
    to_.resources.resize(max_resources);
  }
  if (to_.resources.empty()) value->report(found_, "expected at least one resource");
}

void scenario_reader::read_cluster(json_object& top) {
  const auto value = top.find("cluster");
  nodes_are_wrong_ = value.has_value();
  if (!value || !expect_object(*value, found_)) return;
  json_object cluster{*value, found_};
  const std::size_t before = found_.size();
  if (const auto nodes = cluster.require("nodes"); nodes && expect_array(*nodes, found_)) {
    nodes->for_each([&](json_value node) { read_node(node); });
    if (found_.size() == before && to_.nodes.empty()) nodes->report(found_, "expected at least one node");
  }
  const auto levels = cluster.find("topology");
  cluster.reject_unknown();
  if (found_.size() == before) build_nodes(value->pointer() + "/nodes");
  if (levels && to_.cluster) read_levels(*levels);
  nodes_are_wrong_ = !to_.cluster;
}

void scenario_reader::read_node(json_value value) {
  if (!expect_object(value, found_)) return;
  json_object node{value, found_};
  gpu::node_spec s;
  const auto text = [&](std::string_view key, std::string& to) {
    if (const auto v = node.find(key)) to = read_string(*v, found_).value_or("");
  };
  const auto number = [&](std::string_view key, std::int64_t& to) {
    if (const auto v = node.find(key)) to = read_whole(*v, 0, gpu::max_host_amount, found_).value_or(0);
  };
  if (const auto name = node.require("name")) s.name = read_string(*name, found_).value_or("");
  if (const auto count = node.find("count")) s.count = read_whole(*count, 1, gpu::cluster::max_nodes, found_);
  if (const auto gpus = node.require("gpus")) {
    s.gpus = read_whole(*gpus, 0, gpu::max_gpus_per_node, found_).value_or(0);
  }
  text("gpu_model", s.gpu_model);
  number("gpu_memory_mib", s.gpu_memory_mib);
  number("cpu_milli", s.cpu_milli);
  number("memory_mib", s.memory_mib);
  number("pod_slots", s.pod_slots);
  if (const auto mig = node.find("mig")) s.mig = read_bool(*mig, found_).value_or(false);
  text("pool", s.pool);
  if (const auto labels = node.find("labels"); labels && expect_object(*labels, found_)) {
    labels->for_each([&](json_value label) {
      if (auto v = read_string(label, found_)) s.labels.push_back({std::string{label.key()}, std::move(*v)});
    });
  }
  node.reject_unknown();
  to_.nodes.push_back(std::move(s));
}

void scenario_reader::set_nodes(std::string_view text) {
  const auto number = [&](std::string_view digits, std::int64_t most) -> std::optional<std::int64_t> {
    std::int64_t n = 0;
    const char* const end = digits.data() + digits.size();
    const auto [after, error] = std::from_chars(digits.data(), end, n);
    if (error != std::errc{} || after != end || n < 1 || n > most) return std::nullopt;
    return n;
  };
  const std::size_t cross = text.find('x');
  const auto count = number(text.substr(0, cross), gpu::cluster::max_nodes);
  const auto gpus =
      cross == std::string_view::npos ? std::nullopt : number(text.substr(cross + 1), gpu::max_gpus_per_node);
  if (!count || !gpus) {
    found_.add("--nodes", {},
               "expected nodes and GPUs of each, as in 16x8 (at most " +
                   std::to_string(gpu::max_gpus_per_node) + " GPUs a node), found \"" + std::string{text} +
                   '"');
    return;
  }
  has_nodes_of_command_line_ = true;
  to_.levels.clear();
  to_.nearness.reset();
  levels_are_wrong_ = false;
  to_.nodes.assign(1, gpu::node_spec{.name = "node", .count = *count, .gpus = *gpus});
  build_nodes("--nodes");
}

void scenario_reader::build_nodes(const std::string& place) {
  vector<gpu::node_spec> specs = to_.nodes;
  // A place is chosen by pool alone. To make flavors selectable, they become part of the pool.
  vector<std::string> pools;
  for (gpu::node_spec& s : specs) {
    s.pool = pool_of_node(s);
    if (std::find(pools.begin(), pools.end(), s.pool) == pools.end()) pools.push_back(s.pool);
  }
  if (!flavors_.empty() && pools.size() > gpu::cluster::max_pools) {
    found_.add(to_.file, place,
               "the flavors make " + std::to_string(pools.size()) + " kinds of the nodes: expected at most " +
                   std::to_string(gpu::cluster::max_pools));
    return;
  }
  auto made = gpu::build_cluster(std::move(specs));
  if (made) {
    to_.cluster = std::move(made).value();
    return;
  }
  const problems& all = made.problems();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto same = [&](const problem& p) { return p.code == all[i].code && p.subject == all[i].subject; };
    const auto nth = std::count_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), same);
    found_.add(to_.file, place + place_of_node(all[i], static_cast<std::size_t>(nth)), all[i].text);
  }
}

/// Problems with one name come in the order of the nodes. The first node with a name is not the duplicate.
std::string scenario_reader::place_of_node(const problem& p, std::size_t nth) const {
  if (p.code == problem_code::duplicate_name) ++nth;
  for (std::size_t i = 0; i < to_.nodes.size(); ++i) {
    const gpu::node_spec& s = to_.nodes[i];
    bool is_it = s.name == p.subject;
    if (p.code == problem_code::duplicate_name && s.count) {
      // The name is that of one of its nodes: NAME-3.
      std::int64_t n = -1;
      is_it =
          p.subject.size() > s.name.size() + 1 && p.subject.compare(0, s.name.size() + 1, s.name + '-') == 0;
      if (is_it) {
        const char* const end = p.subject.data() + p.subject.size();
        const auto [after, error] = std::from_chars(p.subject.data() + s.name.size() + 1, end, n);
        is_it = error == std::errc{} && after == end && n >= 0 && n < *s.count;
      }
    }
    if (!is_it) continue;
    if (nth-- == 0) return '/' + std::to_string(i) + '/' + p.field;
  }
  return {};
}

void scenario_reader::finish() {
  vector<std::string_view> names;
  for (std::size_t d = 0; d < to_.resources.size(); ++d) {
    if (to_.cluster) to_.capacity[d] = amount_of_nodes(d).value_or(quantity::unlimited());
    // "h100/gpu" and "a100/gpu" are flavors of one resource.
    const std::string_view whole = to_.resources[d];
    const std::string_view name = whole.substr(whole.rfind('/') + 1);
    const auto at = std::find(names.begin(), names.end(), name);
    to_.policy.resource_of.push_back(static_cast<std::uint8_t>(at - names.begin()));
    if (at == names.end()) names.push_back(name);
    to_.policy.share_units.push_back(name == "gpu" ? 1000 : 1);
  }
}

std::optional<quantity> scenario_reader::amount_of_nodes(std::size_t d) const {
  const std::string_view resource = plain_name(to_.resources[d]);
  const std::string_view flavor = flavor_of(to_.resources[d]);
  // The nodes have nothing in a flavor that no node has, so they state no amount.
  if (!flavor.empty() && !has_nodes_of(to_, flavor)) return std::nullopt;
  const std::uint64_t pools = flavor.empty() ? gpu::all_pools : pools_of_flavor(to_, flavor);
  if (resource == "gpu") return to_.cluster->gpus_in(pools);
  const auto sum = [&](std::int64_t gpu::node_spec::*what, std::int64_t milli) {
    quantity all;
    for (const gpu::node_spec& s : to_.nodes) {
      const auto pool = to_.cluster->find_pool(pool_of_node(s));
      if (!pool || (pools >> *pool & 1U) == 0) continue;
      all += quantity::milli(milli) * (s.*what) * s.count.value_or(1);
    }
    return all;
  };
  if (resource == "cpu") return sum(&gpu::node_spec::cpu_milli, 1);
  if (resource == "memory_mib") return sum(&gpu::node_spec::memory_mib, 1000);
  return std::nullopt;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
