// SPDX-License-Identifier: BSL-1.0
// How near nodes are to each other, and which jobs must run on near nodes.
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/topology/topology_builder.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

void scenario_reader::read_levels(json_value value) {
  const std::size_t before = found_.size();
  levels_are_wrong_ = true;
  if (!expect_array(value, found_)) return;
  vector<std::string_view> keys;
  for (const gpu::node_spec& s : to_.nodes) {
    for (const gpu::label& l : s.labels) keys.push_back(l.key);
  }
  vector<std::string> levels;
  value.for_each([&](json_value element) {
    auto name = read_string(element, found_);
    if (!name) return;
    if (*name == "node") {
      element.report(found_, "the node itself is the last level always (expected other labels of the nodes)");
    } else if (levels.size() >= gpu::any_level) {
      element.report(found_, "expected fewer levels");
    } else if (std::find(levels.begin(), levels.end(), *name) != levels.end()) {
      element.report(found_, "the level \"" + *name + "\" is there twice");
    } else if (std::find(keys.begin(), keys.end(), *name) == keys.end()) {
      element.report(found_, "no node has the label \"" + *name + '"' + did_you_mean(nearest(*name, keys)));
    }
    levels.push_back(std::move(*name));
  });
  if (levels.empty() && found_.size() == before) {
    value.report(found_, "expected labels of the nodes, the outermost first, as in [\"block\", \"rack\"]");
  }
  if (found_.size() != before) return;
  // Reported here for each entry, with its place.
  for (std::size_t i = 0; i < to_.nodes.size(); ++i) {
    const gpu::node_spec& s = to_.nodes[i];
    for (const std::string& level : levels) {
      const auto is_it = [&](const gpu::label& l) { return l.key == level && !l.value.empty(); };
      if (std::any_of(s.labels.begin(), s.labels.end(), is_it)) continue;
      std::string text = s.name;
      text.append(" has no label \"").append(level).append("\", so it would be in none of the topology's ");
      text.append(level).append("s (expected one, as every node has)");
      found_.add(to_.file, "/cluster/nodes/" + std::to_string(i) + "/labels", std::move(text));
    }
  }
  if (found_.size() != before) return;
  auto made = gpu::topology_from_labels(*to_.cluster, levels);
  if (!made) {
    for (const problem& p : made.problems()) value.report(found_, p.text);
    return;
  }
  to_.nearness = std::move(made).value();
  to_.levels = std::move(levels);
  levels_are_wrong_ = false;
}

std::optional<std::uint8_t> scenario_reader::read_level(json_value value) {
  const auto name = read_string(value, found_);
  if (!name || !to_.cluster) return std::nullopt;
  if (has_nodes_of_command_line_ && *name != "node") return std::nullopt;
  // Running on one node does not require a topology from the user.
  if (!to_.nearness) to_.nearness = gpu::topology_from_labels(*to_.cluster, {}).value();
  if (const auto level = to_.nearness->find_level(*name)) return static_cast<std::uint8_t>(*level);
  vector<std::string_view> known{to_.levels.begin(), to_.levels.end()};
  known.push_back("node");
  value.report(found_, "the topology of the cluster has no level \"" + *name + "\" (expected " +
                           (known.size() == 1 ? "\"node\", or \"topology\" in the cluster" : listed(known)) +
                           ')');
  return std::nullopt;
}

void scenario_reader::read_topology_of_job(json_value value, job_entry& to) {
  if (!value.is_object()) {
    return value.report(
        found_, "expected {\"required\": LEVEL}, {\"preferred\": LEVEL} or both, found " + value.shown());
  }
  json_object of_job{value, found_};
  const auto required = of_job.find("required");
  const auto preferred = of_job.find("preferred");
  if (!required && !preferred) {
    value.report(found_, "expected \"required\" or \"preferred\", with a level");
  }
  of_job.reject_unknown();
  if (nodes_are_wrong_ || levels_are_wrong_) return;
  if (required) to.pod_request.required_level = read_level(*required).value_or(gpu::any_level);
  if (preferred) to.pod_request.preferred_level = read_level(*preferred).value_or(gpu::any_level);
  const bool has_both =
      to.pod_request.required_level != gpu::any_level && to.pod_request.preferred_level != gpu::any_level;
  if (has_both && to.pod_request.preferred_level < to.pod_request.required_level) {
    preferred->report(
        found_, "expected a level that is not coarser than the required one, found " + preferred->shown());
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
