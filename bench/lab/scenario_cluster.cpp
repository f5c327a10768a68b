// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/presets/catalog.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Where pool and model of a node are joined, when nodes have to be told apart by both.
constexpr char model_mark = '\n';

[[nodiscard]] std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

[[nodiscard]] bool has_flavors(const scenario& s) {
  return std::any_of(s.resources.begin(), s.resources.end(),
                     [](const std::string& r) { return !model_of(r).empty(); });
}

/// The presets of FORMATS that are still to come.
constexpr std::string_view presets_to_come[] = {"runai", "hyperpod", "kueue", "kueue_fair"};

}  // namespace

bool counts_gpus(std::string_view resource) noexcept {
  return resource == "gpu" || !model_of(resource).empty();
}

std::string_view model_of(std::string_view resource) noexcept {
  constexpr std::string_view kind = "/gpu";
  if (resource.size() <= kind.size() || resource.substr(resource.size() - kind.size()) != kind) return {};
  return resource.substr(0, resource.size() - kind.size());
}

std::uint64_t pools_of_model(const scenario& s, std::string_view model) {
  std::uint64_t pools = 0;
  const auto& names = s.cluster->pools();
  for (std::size_t p = 0; p < names.size(); ++p) {
    const std::string_view name = names[p];
    const std::size_t mark = name.find(model_mark);
    if (mark != std::string_view::npos && name.substr(mark + 1) == lower(model))
      pools |= std::uint64_t{1} << p;
  }
  return pools;
}

std::uint64_t scenario_reader::pools_named(std::string_view pool) const {
  std::uint64_t pools = 0;
  const auto& names = to_.cluster->pools();
  for (std::size_t p = 0; p < names.size(); ++p) {
    const std::string_view name = names[p];
    if (name.substr(0, name.find(model_mark)) == pool) pools |= std::uint64_t{1} << p;
  }
  return pools;
}

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
    if (name->empty() || *name == "percent" || name->substr(0, 2) == "x-") {
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

void scenario_reader::choose_preset(std::string name, std::string_view file, std::string_view place) {
  if (with_preset(name, [](auto) {})) {
    to_.policy.preset = std::move(name);
    return;
  }
  std::vector<std::string_view> names;
  for_each_preset([&](auto p) { names.push_back(p.name); });
  const bool comes =
      std::find(std::begin(presets_to_come), std::end(presets_to_come), name) != std::end(presets_to_come);
  found_.add(file, place,
             (comes ? "the preset \"" + name + "\" is not supported by this version"
                    : "there is no preset \"" + name + "\"") +
                 " (expected " + listed(names) + ")");
}

void scenario_reader::read_policy(json_object& top) {
  const auto value = top.find("policy");
  if (!value) return;
  if (value->is_string()) return choose_preset(std::string{value->text()}, to_.file, value->pointer());
  if (!value->is_object()) {
    value->report(found_, "expected the name of a preset or an object, found " + value->shown());
    return;
  }
  json_object policy{*value, found_};
  if (const auto preset = policy.require("preset")) {
    if (auto name = read_string(*preset, found_)) {
      choose_preset(std::move(*name), to_.file, preset->pointer());
    }
  }
  if (const auto set = policy.find("set")) read_policy_parts(*set);
  for (const auto* option :
       {"idle", "tasks", "strategies", "k", "half_life_s", "window_s", "saturation_multiplier"}) {
    policy.refuse(option);
  }
  policy.reject_unknown();
}

void scenario_reader::read_policy_parts(json_value set) {
  if (!expect_object(set, found_)) return;
  json_object parts{set, found_};
  if (const auto order = parts.find("queue_order")) {
    if (const auto word = read_word(*order, {"priority", "fifo"}, found_)) {
      to_.policy.order = *word == 0 ? queue_order::priority : queue_order::fifo;
    }
  }
  if (const auto placement = parts.find("placement"); placement && !(placement->text() == "best_fit")) {
    placement->report(found_, "the placement " + placement->shown() +
                                  " is not supported by this version (expected \"best_fit\")");
  }
  if (const auto seed = parts.find("seed")) {
    const auto n = read_whole(*seed, 0, 1'000'000'000'000, found_);
    to_.policy.seed = static_cast<std::uint64_t>(n.value_or(1));
  }
  for (const auto* part : {"surplus", "rounding", "victim_order", "guard"}) parts.refuse(part);
  parts.reject_unknown();
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
  cluster.reject_unknown();
  if (found_.size() == before) build_nodes(value->pointer() + "/nodes");
  nodes_are_wrong_ = !to_.cluster;
}

void scenario_reader::read_node(json_value value) {
  if (!expect_object(value, found_)) return;
  constexpr std::int64_t most = 1'000'000'000'000;
  json_object node{value, found_};
  gpu::node_spec s;
  const auto text = [&](std::string_view key, std::string& to) {
    if (const auto v = node.find(key)) to = read_string(*v, found_).value_or("");
  };
  const auto number = [&](std::string_view key, std::int64_t& to) {
    if (const auto v = node.find(key)) to = read_whole(*v, 0, most, found_).value_or(0);
  };
  if (const auto name = node.require("name")) s.name = read_string(*name, found_).value_or("");
  if (const auto count = node.find("count")) s.count = read_whole(*count, 1, gpu::cluster::max_nodes, found_);
  if (const auto gpus = node.require("gpus")) {
    s.gpus = read_whole(*gpus, 1, gpu::max_gpus_per_node, found_).value_or(1);
  }
  text("gpu_model", s.gpu_model);
  number("gpu_memory_mib", s.gpu_memory_mib);
  number("cpu_milli", s.cpu_milli);
  number("memory_mib", s.memory_mib);
  text("pool", s.pool);
  if (const auto labels = node.find("labels"); labels && expect_object(*labels, found_)) {
    labels->for_each([&](json_value label) {
      if (auto v = read_string(label, found_)) s.labels.push_back({std::string{label.key()}, std::move(*v)});
    });
  }
  node.reject_unknown();
  to_.nodes.push_back(std::move(s));
}

void scenario_reader::read_command_line(const scenario_source& source) {
  if (source.policy) choose_preset(*source.policy, "--policy", {});
  if (!source.nodes) return;
  to_.input.add_text(*source.nodes);
  set_nodes(*source.nodes);
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
  to_.nodes.assign(1, gpu::node_spec{.name = "node", .count = *count, .gpus = *gpus});
  build_nodes("--nodes");
}

void scenario_reader::build_nodes(const std::string& place) {
  std::vector<gpu::node_spec> specs = to_.nodes;
  if (has_flavors(to_)) {
    // A place is chosen by pool alone: so that a model can be chosen, it becomes part of the pool.
    for (gpu::node_spec& s : specs) s.pool += model_mark + lower(s.gpu_model);
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

/// The problems of one name come in the order of the nodes; the first node that has a name is not the one
/// that has it again.
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

std::optional<quantity> scenario_reader::amount_of_nodes(std::size_t d) const {
  const std::string& resource = to_.resources[d];
  if (resource == "gpu") return to_.cluster->gpus();
  if (const auto model = model_of(resource); !model.empty()) {
    return to_.cluster->gpus_in(pools_of_model(to_, model));
  }
  const auto sum = [&](std::int64_t gpu::node_spec::*what, std::int64_t milli) {
    quantity all;
    for (const gpu::node_spec& s : to_.nodes) {
      all += quantity::milli(milli) * (s.*what) * s.count.value_or(1);
    }
    return all;
  };
  if (resource == "cpu") return sum(&gpu::node_spec::cpu_milli, 1);
  if (resource == "memory_mib") return sum(&gpu::node_spec::memory_mib, 1000);
  return std::nullopt;
}

gpu_request gpus_of(const scenario& s, const amounts& request) {
  gpu_request result;
  quantity of_models;
  std::string_view model;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (!counts_gpus(s.resources[d]) || request[d] == quantity{}) continue;
    const std::string_view m = model_of(s.resources[d]);
    if (m.empty()) {
      result.gpus = request[d];
      continue;
    }
    of_models += request[d];
    if (s.cluster && !model.empty()) {
      result.problem =
          "one pod can't have GPUs of two models (" + std::string{model} + " and " + std::string{m} + ")";
    }
    model = m;
  }
  if (result.gpus == quantity{}) {
    result.gpus = of_models;
  } else if (of_models != quantity{} && of_models != result.gpus) {
    result.problem = "of the " + to_string(result.gpus) + " gpu a model is named for " +
                     to_string(of_models) + " (expected none, or all)";
  }
  if (s.cluster && !model.empty()) result.pools = pools_of_model(s, model);
  if (result.problem.empty()) result.problem = problem_of_gpus(result.gpus);
  return result;
}

std::string problem_of_gpus(quantity gpus) {
  if (gpus < quantity::whole(1) || gpus.in_milli() % gpu::milli_per_gpu == 0) return {};
  return to_string(gpus) + " GPUs can't be had (expected whole GPUs, or a fraction of one)";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
