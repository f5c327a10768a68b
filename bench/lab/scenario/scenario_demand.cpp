// SPDX-License-Identifier: BSL-1.0
// What the pods of a job need of their nodes besides whole GPUs: a model, CPU and memory, fractions of
// devices.
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The amount in all flavors together, if it is not requested as such.
[[nodiscard]] std::optional<quantity> asked_of(const amounts_by_name& asked, std::string_view resource) {
  if (const auto plain = asked.find(resource); plain != asked.end()) return plain->second;
  std::optional<quantity> sum;
  for (const auto& [name, amount] : asked) {
    if (plain_name(name) == resource) sum = sum.value_or(quantity{}) + amount;
  }
  return sum;
}

[[nodiscard]] bool names_models(const gpu::cluster& nodes) {
  return std::any_of(nodes.models().begin(), nodes.models().end(),
                     [](const std::string& m) { return !m.empty(); });
}

}  // namespace

bool is_one_of(std::string_view model, std::string_view models) {
  for (;;) {
    const std::size_t bar = models.find('|');
    if (models.substr(0, bar) == model) return true;
    if (bar == std::string_view::npos) return false;
    models.remove_prefix(bar + 1);
  }
}

std::uint64_t models_named(const gpu::cluster& nodes, std::string_view name) {
  std::uint64_t models = 0;
  for (std::size_t m = 0; m < nodes.models().size(); ++m) {
    if (is_one_of(lower(nodes.models()[m]), lower(name))) models |= std::uint64_t{1} << m;
  }
  return models;
}

bool knows_model(const scenario& s, std::string_view name) {
  if (!s.cluster || !names_models(*s.cluster) || models_named(*s.cluster, name) != 0) return true;
  return std::any_of(s.resources.begin(), s.resources.end(),
                     [](const std::string& r) { return counts_gpus(r) && !flavor_of(r).empty(); });
}

std::uint64_t models_of_traced(const scenario& s, name_id gpu_model) {
  if (!gpu_model || !s.cluster) return gpu::all_models;
  const std::uint64_t models = models_named(*s.cluster, s.trace->words[gpu_model]);
  return models != 0 ? models : gpu::all_models;
}

std::uint64_t scenario_reader::find_models(std::string_view name, json_value value) {
  const std::uint64_t models = models_named(*to_.cluster, name);
  if (models == 0) {
    const vector<std::string_view> known{to_.cluster->models().begin(), to_.cluster->models().end()};
    value.report(found_, "no node has the GPU model \"" + std::string{name} + '"' +
                             did_you_mean(nearest(name, known)));
  }
  return models;
}

void scenario_reader::read_models(json_value value, job_entry& to) {
  std::uint64_t models = 0;
  bool is_read = true;
  const auto add = [&](json_value name) {
    const auto text = read_string(name, found_);
    is_read = is_read && text;
    if (!text || !to_.cluster || has_nodes_of_command_line_) return;
    models |= find_models(*text, name);
  };
  if (value.is_array()) {
    bool is_empty = true;
    value.for_each([&](json_value name) {
      is_empty = false;
      add(name);
    });
    if (is_empty) return value.report(found_, "expected at least one GPU model");
  } else if (value.is_string()) {
    add(value);
  } else {
    return value.report(found_, "expected the name of a GPU model or a list of them, found " + value.shown());
  }
  if (is_read && models != 0) to.pod_request.models = models;
}

void scenario_reader::read_needs(json_object& job, job_entry& to) {
  if (const auto models = job.find("gpu_model")) read_models(*models, to);
  // Nodes of the command line have no pools.
  if (const auto pools = job.find("node_pools"); pools && !has_nodes_of_command_line_) {
    to.pod_request.pools &= read_node_pools(*pools);
  }
  if (const auto memory = job.find("gpu_memory_mib")) {
    to.pod_request.gpu_memory_mib = read_whole(*memory, 1, gpu::max_host_amount, found_).value_or(0);
  }
  if (const auto devices = job.find("devices_per_pod")) {
    to.pod_request.devices =
        static_cast<std::uint32_t>(read_whole(*devices, 1, gpu::max_gpus_per_node, found_).value_or(1));
  }
  if (const auto mig = job.find("mig")) read_mig(*mig, to);
  if (const auto topology = job.find("topology")) read_topology_of_job(*topology, to);
}

void scenario_reader::read_host(json_object& job, const amounts_by_name& asked, job_entry& to) {
  constexpr std::int64_t most = 1'000'000'000'000;
  const auto read = [&](std::string_view key, std::optional<std::int64_t> by_request) {
    const auto value = job.find(key);
    if (!value) return by_request.value_or(0);
    const auto amount = read_whole(*value, 0, most, found_);
    if (amount && by_request && *amount != *by_request) {
      value->report(found_, "expected " + std::to_string(*by_request) + ", as the request has it, found " +
                                value->shown());
    }
    return amount.value_or(0);
  };
  const auto cpu = asked_of(asked, "cpu");
  const auto memory = asked_of(asked, "memory_mib");
  to.pod_request.cpu_milli = read("cpu_milli", cpu ? std::optional{cpu->in_milli()} : std::nullopt);
  to.pod_request.memory_mib =
      read("memory_mib", memory ? std::optional{memory->in_milli() / 1000 + (memory->in_milli() % 1000 != 0)}
                                : std::nullopt);
}

void scenario_reader::share_devices(json_value request, job_entry& to) {
  const auto devices = static_cast<std::int64_t>(to.pod_request.devices);
  if (!to.pod_request.mig.is_none()) return charge_mig(request, to);
  if (to.pod_request.gpu_memory_mib > 0) return charge_gpu_memory(request, to);
  if (devices == 1) return;
  const std::int64_t milli = to.pod_request.gpus.in_milli();
  if (milli == 0 || milli % devices != 0 || milli / devices >= gpu::milli_per_gpu) {
    return request.report(found_, "expected gpu as " + std::to_string(devices) +
                                      " equal fractions (to a thousandth), one of each of the " +
                                      std::to_string(devices) + " devices_per_pod, found " +
                                      to_string(to.pod_request.gpus));
  }
  to.pod_request.gpus = quantity::milli(milli / devices);
}

void scenario_reader::charge_gpu_memory(json_value request, job_entry& to) {
  if (to.pod_request.gpus != quantity{}) {
    return request.report(found_,
                          "expected no gpu beside gpu_memory_mib, found " + to_string(to.pod_request.gpus));
  }
  const bool counts_any = std::any_of(to_.resources.begin(), to_.resources.end(),
                                      [](const std::string& r) { return counts_gpus(r); });
  if (!counts_any || nodes_are_wrong_) return;
  const auto d = find_resource(to_, "gpu");
  if (!d || !to_.cluster) {
    return request.report(found_,
                          d ? "what part of a GPU gpu_memory_mib is can't be told without a cluster"
                            : "gpu_memory_mib can't be counted by flavor (expected a resource \"gpu\")");
  }
  std::uint32_t most = 0;
  for (const gpu::node_type& t : to_.cluster->types()) {
    if (!t.is_in(to.pod_request.pools) || !t.is_of(to.pod_request.models) || t.gpus < to.pod_request.devices)
      continue;
    const std::uint32_t portion = gpu::charge_of_memory(to.pod_request.gpu_memory_mib, t.gpu_memory_mib);
    if (portion <= gpu::milli_per_gpu) most = std::max(most, portion);
  }
  // No node can hold it, so it will be refused.
  if (most == 0) most = gpu::milli_per_gpu;
  to.request[*d] = quantity::milli(most) * static_cast<std::int64_t>(to.pod_request.devices);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
