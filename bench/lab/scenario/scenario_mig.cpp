// SPDX-License-Identifier: BSL-1.0
// Instances of GPUs in MIG mode.
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/mig/mig_request.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// "A100-40GB: 1g.5gb, 2g.10gb, ...; H100-80GB: ...", each model once.
[[nodiscard]] std::string profiles_of(const gpu::cluster& nodes) {
  vector<gpu::mig_model> models;
  std::string text;
  for (const gpu::node_type& t : nodes.types()) {
    if (!t.mig || std::find(models.begin(), models.end(), *t.mig) != models.end()) continue;
    models.push_back(*t.mig);
    if (!text.empty()) text += "; ";
    text += gpu::to_string(*t.mig);
    text += ": " + gpu::list_mig_profiles(*t.mig);
  }
  return text;
}

}  // namespace

void scenario_reader::read_mig(json_value value, job_entry& to) {
  std::string profile;
  if (value.is_string()) {
    profile = value.text();
  } else if (value.is_object()) {
    std::size_t profiles = 0;
    value.for_each([&](json_value count) {
      if (++profiles > 1) return;
      profile = count.key();
      const auto n = read_whole(count, 1, 1'000'000, found_);
      if (n.value_or(1) == 1) return;
      count.report(found_,
                   "a pod has one instance: expected 1, and as many \"pods\"; found " + count.shown());
    });
    if (profiles != 1) {
      return value.report(found_,
                          "a pod has one instance: expected one profile, found " + std::to_string(profiles));
    }
  } else {
    return value.report(found_,
                        "expected the name of a MIG profile, as in \"1g.5gb\", found " + value.shown());
  }
  if (to.pod_request.total) value.report(found_, "each pod has an instance (expected no \"total\")");
  if (to.pod_request.gpu_memory_mib > 0) value.report(found_, "expected no gpu_memory_mib beside mig");
  if (to.pod_request.devices > 1) {
    value.report(found_, "an instance is of one GPU (expected no devices_per_pod beside mig)");
  }
  to.pod_request.gpu_memory_mib = 0;
  to.pod_request.devices = 1;
  const auto request = gpu::find_mig_request(profile);
  if (request) to.pod_request.mig = *request;
  if (nodes_are_wrong_) return;
  const auto offers = [&](const gpu::node_type& t) {
    return request && t.gpus > 0 && t.mig && gpu::profile_of(*t.mig, *request);
  };
  // Without nodes only quotas count, but some GPU model must offer the profile.
  const bool is_known = to_.cluster
                            ? std::any_of(to_.cluster->types().begin(), to_.cluster->types().end(), offers)
                            : request.has_value();
  if (is_known) return;
  const std::string offered = to_.cluster ? profiles_of(*to_.cluster) : std::string{};
  value.report(found_, "no GPU offers the MIG profile \"" + profile + "\" (" +
                           (!to_.cluster      ? "expected one such as 1g.5gb"
                            : offered.empty() ? "no node is in MIG mode"
                                              : "expected one of " + offered) +
                           ')');
  to.pod_request.mig = {};
}

void scenario_reader::charge_mig(json_value request, job_entry& to) {
  const quantity asked = std::exchange(to.pod_request.gpus, quantity{});
  const bool counts_any = std::any_of(to_.resources.begin(), to_.resources.end(),
                                      [](const std::string& r) { return counts_gpus(r); });
  if (!counts_any || nodes_are_wrong_) return;
  if (!to_.cluster) {
    if (asked != quantity{}) return;
    return request.report(found_,
                          "what part of a GPU an instance is can't be told without a cluster (expected "
                          "it as gpu in the request)");
  }
  std::uint32_t most = 0;
  for (const gpu::node_type& t : to_.cluster->types()) {
    if (!t.is_in(to.pod_request.pools) || !t.is_of(to.pod_request.models) || t.gpus == 0 || !t.mig) continue;
    const auto profile = gpu::profile_of(*t.mig, to.pod_request.mig);
    if (profile) most = std::max(most, gpu::portion_of(*t.mig, *profile));
  }
  // No node that it accepts can hold it, so it will be refused.
  if (most == 0) most = gpu::milli_per_gpu;
  const quantity portion = quantity::milli(most);
  if (asked == portion) return;
  if (asked != quantity{}) {
    return request.report(found_, "expected no gpu, or " + to_string(portion) + " as the instance " +
                                      std::string{gpu::name_of(to.pod_request.mig)} + " is, found " +
                                      to_string(asked));
  }
  const auto d = find_resource(to_, "gpu");
  if (!d) {
    return request.report(found_, "GPUs are counted by flavor: expected " + to_string(portion) +
                                      " gpu of one, as the instance is");
  }
  to.request[*d] = portion;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
