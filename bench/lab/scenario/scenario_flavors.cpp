// SPDX-License-Identifier: BSL-1.0
// What jobs request: amounts, and the flavors that they accept.
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Separates a node's pool from its flavors, and ends each flavor.
constexpr char flavor_mark = '\n';

[[nodiscard]] bool is_of_flavor(const gpu::node_spec& node, std::string_view flavor) {
  return node.pool == flavor || lower(node.gpu_model) == lower(flavor) ||
         std::any_of(node.labels.begin(), node.labels.end(),
                     [&](const gpu::label& l) { return l.value == flavor; });
}

/// The name of a resource in a flavor: "h100/gpu".
[[nodiscard]] std::string in_flavor(std::string_view flavor, std::string_view resource) {
  std::string name{flavor};
  return name.append("/").append(resource);
}

/// The flavors in which a resource is counted.
[[nodiscard]] vector<std::string_view> flavors_of(const scenario& s, std::string_view resource) {
  vector<std::string_view> all;
  for (const std::string& r : s.resources) {
    if (!flavor_of(r).empty() && plain_name(r) == resource) all.push_back(flavor_of(r));
  }
  return all;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view flavor_of(std::string_view resource) noexcept {
  const std::size_t slash = resource.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : resource.substr(0, slash);
}

std::string_view plain_name(std::string_view resource) noexcept {
  const std::string_view flavor = flavor_of(resource);
  return flavor.empty() ? resource : resource.substr(flavor.size() + 1);
}

bool counts_gpus(std::string_view resource) noexcept {
  return plain_name(resource) == "gpu";
}

std::optional<std::size_t> find_resource(const scenario& s, std::string_view name) noexcept {
  const auto at = std::find(s.resources.begin(), s.resources.end(), name);
  if (at == s.resources.end()) return std::nullopt;
  return static_cast<std::size_t>(at - s.resources.begin());
}

std::string problem_of_gpus(quantity gpus) {
  if (gpus < quantity::whole(1) || gpus.in_milli() % gpu::milli_per_gpu == 0) return {};
  return to_string(gpus) + " GPUs can't be had (expected whole GPUs, or a fraction of one)";
}

// The nodes of flavors.

void scenario_reader::find_flavors(json_object& top) {
  const auto add = [&](std::string_view flavor) {
    if (flavor.empty() || std::find(flavors_.begin(), flavors_.end(), flavor) != flavors_.end()) return;
    flavors_.emplace_back(flavor);
  };
  for (const std::string& r : to_.resources) add(flavor_of(r));
  const auto add_all = [&](json_value list) {
    if (!list.is_array()) return;
    list.for_each([&](json_value element) {
      if (element.is_string()) add(element.text());
    });
  };
  const auto jobs = top.value().find("jobs");
  if (!jobs || !jobs->is_array()) return;
  const auto add_those_of = [&](json_value pods) {
    const auto flavors = pods.is_object() ? pods.find("flavors") : std::nullopt;
    if (!flavors || !flavors->is_array()) return;
    add_all(*flavors);
    flavors->for_each([&](json_value group) {
      const auto of_group = group.is_object() ? group.find("flavors") : std::nullopt;
      if (of_group) add_all(*of_group);
    });
  };
  jobs->for_each([&](json_value job) {
    add_those_of(job);
    const auto sets = job.is_object() ? job.find("pod_sets") : std::nullopt;
    if (sets && sets->is_array()) sets->for_each(add_those_of);
  });
}

std::string scenario_reader::pool_of_node(const gpu::node_spec& node) const {
  std::string name = node.pool;
  if (flavors_.empty()) return name;
  name += flavor_mark;
  for (const std::string& f : flavors_) {
    if (is_of_flavor(node, f)) name.append(f) += flavor_mark;
  }
  return name;
}

std::string_view pool_as_given(std::string_view pool) noexcept {
  return pool.substr(0, pool.find(flavor_mark));
}

std::uint64_t scenario_reader::pools_named(std::string_view pool) const {
  std::uint64_t pools = 0;
  const auto& names = to_.cluster->pools();
  for (std::size_t p = 0; p < names.size(); ++p) {
    if (pool_as_given(names[p]) == pool) pools |= std::uint64_t{1} << p;
  }
  return pools;
}

namespace {

/// The cluster's pools with nodes of a flavor; none if no node has it.
[[nodiscard]] std::uint64_t pools_with(const scenario& s, std::string_view flavor) {
  if (!s.cluster) return 0;
  std::string entry{flavor_mark};
  entry.append(flavor) += flavor_mark;
  std::uint64_t pools = 0;
  const auto& names = s.cluster->pools();
  for (std::size_t p = 0; p < names.size(); ++p) {
    if (names[p].find(entry) != std::string::npos) pools |= std::uint64_t{1} << p;
  }
  return pools;
}

}  // namespace

bool has_nodes_of(const scenario& s, std::string_view flavor) {
  return pools_with(s, flavor) != 0;
}

std::uint64_t pools_of_flavor(const scenario& s, std::string_view flavor) {
  const std::uint64_t pools = pools_with(s, flavor);
  return pools != 0 ? pools : gpu::all_pools;
}

namespace {

/// Calls `visit(flavor)` for those that GPUs of a trace may have; returns how many there are.
template <class Visit>
std::size_t for_each_flavor_of_traced(const scenario& s, name_id gpu_model, quantity gpus, Visit visit) {
  const auto flavors = flavors_of(s, "gpu");
  if (gpus == quantity{}) return 0;
  const std::string models = gpu_model ? lower(s.trace->words[gpu_model]) : std::string{};
  const auto is_accepted = [&](std::string_view flavor) { return is_one_of(lower(flavor), models); };
  const bool is_counted = std::any_of(flavors.begin(), flavors.end(), is_accepted);
  // "gpu" counts all GPUs; those of a job that names no counted flavor are counted only there.
  if (find_resource(s, "gpu") && !is_counted) return 0;
  std::size_t count = 0;
  for (const std::string_view f : flavors) {
    if (is_counted && !is_accepted(f)) continue;
    visit(f);
    ++count;
  }
  return count;
}

}  // namespace

std::optional<flavor_group> flavors_of_traced(const scenario& s, name_id gpu_model, quantity gpus,
                                              std::uint32_t pods) {
  flavor_group group{{"gpu"}, {}};
  const auto add = [&](std::string_view f) {
    flavor_group::option option{std::string{f}, {}, pools_of_flavor(s, f)};
    option.request[*find_resource(s, in_flavor(f, "gpu"))] =
        pods == 0 ? gpus : quantity::milli(gpus.in_milli() / pods);
    group.options.push_back(std::move(option));
  };
  if (for_each_flavor_of_traced(s, gpu_model, gpus, add) == 0) return std::nullopt;
  return group;
}

bool chooses_flavor(const scenario& s, const trace_pod_set& set) {
  return for_each_flavor_of_traced(s, set.gpu_model, set.gpus, [](std::string_view) {}) > 1;
}

// Requests.

amounts_by_name scenario_reader::read_asked(json_value value, bool has_flavors) {
  amounts_by_name asked;
  if (!value.is_object()) {
    value.report(found_, "expected amounts by resource, as in {\"" + to_.resources.front() +
                             "\": 1}, found " + value.shown());
    return asked;
  }
  json_object by_resource{value, found_};
  vector<std::string_view> names{to_.resources.begin(), to_.resources.end()};
  for (const std::string& r : to_.resources) {
    const std::string_view plain = plain_name(r);
    if (std::find(names.begin(), names.end(), plain) == names.end()) names.push_back(plain);
  }
  for (const std::string_view name : names) {
    const bool is_counted = find_resource(to_, name).has_value();
    // What is counted only by flavor is not a key, unless there are flavors to choose from.
    const auto amount = is_counted || has_flavors ? by_resource.find(name) : value.find(name);
    if (!amount) continue;
    if (!is_counted && !has_flavors) {
      static_cast<void>(by_resource.find(name));
      vector<std::string_view> counted;
      for (const std::string& r : to_.resources) {
        if (plain_name(r) == name) counted.push_back(r);
      }
      std::string text = "\"" + std::string{name} + "\" is counted by flavor (expected ";
      text += counted.size() > 1 ? listed(counted) : "\"" + std::string{counted.front()} + '"';
      amount->report(found_, text + ", or \"flavors\" to choose from)");
      continue;
    }
    const auto q = read_amount(*amount, false);
    if (q && *q != quantity{}) asked.try_emplace(std::string{name}, *q);
  }
  by_resource.reject_unknown();
  return asked;
}

void scenario_reader::read_request(json_object& job, json_value value, std::optional<json_value> flavors,
                                   job_entry& to) {
  const std::size_t before = found_.size();
  bool has_flavors = false;
  if (flavors && !expect_array(*flavors, found_)) return;
  if (flavors) flavors->for_each([&](json_value) { has_flavors = true; });
  const amounts_by_name asked = read_asked(value, has_flavors);
  read_host(job, asked, to);
  if (found_.size() != before) return;

  quantity of_models;
  std::string_view model;
  std::uint64_t pools = gpu::all_pools;
  for (std::size_t d = 0; d < to_.resources.size(); ++d) {
    const std::string& name = to_.resources[d];
    const auto at = asked.find(name);
    if (at == asked.end()) continue;
    const quantity amount = at->second;
    to.request[d] = amount;
    const std::string_view flavor = flavor_of(name);
    if (flavor.empty()) continue;
    pools &= pools_of_flavor(to_, flavor);
    if (!counts_gpus(name)) continue;
    of_models += amount;
    if (to_.cluster && !model.empty()) {
      value.report(found_, "one pod can't have GPUs of two models (" + std::string{model} + " and " +
                               std::string{flavor} + ")");
    }
    model = flavor;
  }
  const auto plain = asked.find("gpu");
  to.pod_request.gpus = plain != asked.end() ? plain->second : of_models;
  if (plain != asked.end() && of_models != quantity{} && of_models != plain->second) {
    value.report(found_, "of the " + to_string(plain->second) + " gpu a model is named for " +
                             to_string(of_models) + " (expected none, or all)");
  }
  to.pod_request.pools &= pools;
  share_devices(value, to);
  if (found_.size() != before) return;
  if (auto problem = problem_of_gpus(to.pod_request.gpus); !problem.empty()) value.report(found_, problem);
  if (has_flavors) read_flavors(*flavors, asked, to);
  if (found_.size() != before) return;

  const std::int64_t pods = to.pod_request.total ? 1 : to.pod_request.pods;
  to.request = to.request * pods;
  amounts most = to.request;
  for (const flavor_group& g : to.flavors) {
    for (const flavor_group::option& o : g.options) most += o.request * pods;
  }
  if (!is_valid_request(most)) {
    value.report(found_, "all pods together ask for more than can be counted");
  }
}

void scenario_reader::read_flavors(json_value value, const amounts_by_name& asked, job_entry& to) {
  const std::size_t before = found_.size();
  bool has_groups = false;
  bool has_names = false;
  value.for_each([&](json_value element) { (element.is_object() ? has_groups : has_names) = true; });
  if (has_groups && has_names) {
    return value.report(found_,
                        "expected the names of flavors, or groups of resources with theirs, not both");
  }
  if (!has_groups) {
    // Resources that are counted in one of the flavors, or in no other way. If none is, the flavors say which
    // nodes the job may run on.
    const auto is_of_flavors = [&](const std::string& resource) {
      bool is_counted = false;
      value.for_each([&](json_value f) {
        is_counted = is_counted || (f.is_string() && find_resource(to_, in_flavor(f.text(), resource)));
      });
      return is_counted || !find_resource(to_, resource);
    };
    vector<std::string> resources;
    vector<std::string> all;
    for (const auto& [name, amount] : asked) {
      if (!flavor_of(name).empty()) continue;
      all.push_back(name);
      if (is_of_flavors(name)) resources.push_back(name);
    }
    add_group(value, resources.empty() ? std::move(all) : std::move(resources), asked, to);
  } else {
    value.for_each([&](json_value element) {
      json_object group{element, found_};
      vector<std::string> resources;
      const auto names = group.require("resources");
      if (names && expect_array(*names, found_)) {
        names->for_each([&](json_value name) {
          auto text = read_string(name, found_);
          if (!text) return;
          const bool is_taken = std::any_of(to.flavors.begin(), to.flavors.end(), [&](const flavor_group& g) {
            return std::find(g.resources.begin(), g.resources.end(), *text) != g.resources.end();
          });
          if (is_taken || std::find(resources.begin(), resources.end(), *text) != resources.end()) {
            name.report(found_, "the resource \"" + *text + "\" is there twice");
          } else if (asked.find(*text) == asked.end()) {
            name.report(found_, "the request does not ask for \"" + *text + '"');
          } else {
            resources.push_back(std::move(*text));
          }
        });
      }
      const auto flavors = group.require("flavors");
      if (flavors && expect_array(*flavors, found_)) add_group(*flavors, std::move(resources), asked, to);
      group.reject_unknown();
    });
  }
  if (to.flavors.size() > most_flavor_groups) {
    value.report(found_, "expected at most " + std::to_string(most_flavor_groups) + " groups, found " +
                             std::to_string(to.flavors.size()));
  }
  for (const auto& entry : asked) {
    const std::string& name = entry.first;
    if (found_.size() != before) return;
    const bool is_covered =
        find_resource(to_, name) ||
        std::any_of(to.flavors.begin(), to.flavors.end(), [&](const flavor_group& g) {
          return std::find(g.resources.begin(), g.resources.end(), name) != g.resources.end();
        });
    if (!is_covered) {
      value.report(found_, "no group has the resource \"" + name + "\", which is counted by flavor");
    }
  }
}

void scenario_reader::add_group(json_value flavors, vector<std::string> resources,
                                const amounts_by_name& asked, job_entry& to) {
  flavor_group group{std::move(resources), {}};
  flavors.for_each([&](json_value element) {
    auto name = read_string(element, found_);
    if (!name) return;
    const bool is_there = std::any_of(group.options.begin(), group.options.end(),
                                      [&](const flavor_group::option& o) { return o.name == *name; });
    if (is_there) return element.report(found_, "the flavor is there twice");
    flavor_group::option option{*name, {}, pools_of_flavor(to_, *name)};
    bool is_known = has_nodes_of(to_, *name);
    for (const std::string& r : group.resources) {
      const auto d = find_resource(to_, in_flavor(*name, r));
      is_known = is_known || d.has_value();
      if (d) option.request[*d] = asked.find(r)->second;
      if (d || find_resource(to_, r)) continue;
      return element.report(found_, "there is no resource \"" + in_flavor(*name, r) + "\" (expected " +
                                        listed(flavors_of(to_, r)) + ')');
    }
    // Errors in the nodes have been reported.
    if (!is_known && !nodes_are_wrong_) {
      return element.report(found_, "no quota counts the flavor \"" + *name + "\" and no node has it");
    }
    group.options.push_back(std::move(option));
  });
  if (group.options.size() > 255) flavors.report(found_, "expected at most 255 flavors");
  if (group.options.empty()) return;
  to.flavors.push_back(std::move(group));
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
