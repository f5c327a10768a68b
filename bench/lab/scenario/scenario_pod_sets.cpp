// SPDX-License-Identifier: BSL-1.0
// Jobs whose pods differ.
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

void scenario_reader::read_pod_sets(json_value value, job_entry& to) {
  if (!expect_array(value, found_)) return;
  const std::size_t before = found_.size();
  std::uint64_t pods = 0;
  std::uint64_t least = 0;
  std::size_t groups = 0;
  value.for_each([&](json_value element) {
    if (to.sets.size() == most_pod_sets) {
      return element.report(found_, "a job has at most " + std::to_string(most_pod_sets) + " pod sets");
    }
    pod_set_entry set = read_pod_set(element, to);
    if (set.name.empty()) set.name = std::to_string(to.sets.size() + 1);
    const auto is_same = [&](const pod_set_entry& other) { return other.name == set.name; };
    if (std::any_of(to.sets.begin(), to.sets.end(), is_same)) {
      element.report(found_, "there is more than one pod set \"" + set.name + '"');
    }
    to.sets.push_back(std::move(set));
    const pod_set_entry& read = to.sets.back();
    pods += read.pods.pods;
    least += read.pods.fewest();
    groups += read.flavors.size();
    to.request += read.request * read.pods.pods;
  });
  if (found_.size() != before) return;
  if (to.sets.empty()) return value.report(found_, "expected at least one pod set");
  constexpr std::uint64_t most_pods = 1'000'000;
  if (pods > most_pods || !is_valid_request(to.request)) {
    return value.report(found_, "all pods together ask for more than can be counted");
  }
  if (groups > most_flavor_groups) {
    return value.report(found_, "the pod sets of a job choose at most " + std::to_string(most_flavor_groups) +
                                    " flavors together, found " + std::to_string(groups));
  }
  to.pod_request.pods = static_cast<std::uint32_t>(pods);
  to.min_pods = static_cast<std::uint32_t>(least);
  // Pods that are alike and may be anywhere are what all other jobs have.
  const gpu::pod_set& first = to.sets.front().pods;
  if (to.sets.size() > 1 || first.slice != 0 || first.most_together != 0) return;
  const std::uint8_t required = first.each.required_level;
  const std::uint8_t preferred = first.each.preferred_level;
  const gpu::pod_request of_job = std::exchange(to.pod_request, first.of(first.pods, {}));
  if (required == gpu::any_level) to.pod_request.required_level = of_job.required_level;
  if (preferred == gpu::any_level) to.pod_request.preferred_level = of_job.preferred_level;
  to.flavors = std::move(to.sets.front().flavors);
  to.semi_preemptible = to.sets.front().semi_preemptible;
  to.sets.clear();
}

pod_set_entry scenario_reader::read_pod_set(json_value value, const job_entry& job) {
  pod_set_entry to;
  if (!expect_object(value, found_)) return to;
  json_object set{value, found_};
  if (const auto name = set.find("name")) to.name = read_string(*name, found_).value_or("");
  to.semi_preemptible = read_semi_preemptible(set, job).value_or(job.semi_preemptible);
  job_entry one;
  one.quota = job.quota;
  one.pod_request.pools = job.pod_request.pools;
  read_pods(set, one);
  if (one.pod_request.total) {
    set.find("total")->report(found_, "a pod set consists of pods (expected no \"total\")");
  }
  read_needs(set, one);
  const auto flavors = set.find("flavors");
  if (const auto request = set.require("request")) read_request(set, *request, flavors, one);
  to.pods.each = one.pod_request;
  to.pods.pods = one.pod_request.pods;
  to.pods.min_pods = one.min_pods;
  to.flavors = std::move(one.flavors);
  const auto pods = static_cast<std::int64_t>(to.pods.pods);
  for (std::size_t d = 0; d < max_resources; ++d) {
    to.request[d] = quantity::milli(one.request[d].in_milli() / pods);
  }
  const auto read_domain = [&](std::string_view key, std::uint32_t& count, std::uint8_t& level) {
    const auto v = set.find(key);
    if (!v || !expect_object(*v, found_)) return;
    json_object domain{*v, found_};
    if (const auto n = domain.require("pods")) {
      count = static_cast<std::uint32_t>(read_whole(*n, 1, pods, found_).value_or(1));
    }
    if (const auto l = domain.require("level"); l && !nodes_are_wrong_ && !levels_are_wrong_) {
      level = read_level(*l).value_or(gpu::any_level);
    }
    domain.reject_unknown();
    if (to.pods.fewest() != to.pods.pods) {
      v->report(found_, "a pod that comes later would not know where the others are (expected no min_pods)");
    }
    // Nodes of the command line have no such level.
    if (level == gpu::any_level) count = 0;
  };
  read_domain("slice", to.pods.slice, to.pods.slice_level);
  read_domain("spread", to.pods.most_together, to.pods.spread_level);
  set.reject_unknown();
  return to;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
