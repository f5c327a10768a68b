// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/generate_parts.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

workload_tenants demo_tenants() {
  return {{{"quota1.1", 48}, {"quota1.2", 80}}, {{"quota1", 1}}, {{"quota1.1", 48}, {"quota1.2", 80}}};
}

workload_tenants numbered_tenants(std::size_t count) {
  ALLOT_ASSERT(count >= 1 && count <= 1'000, "1 to 1,000 tenants");
  constexpr std::uint64_t first = 1'000'000;
  vector<tenant_share> all;
  for (std::size_t i = 1; i <= count; ++i) {
    all.push_back({std::string{"team-"}.append(std::to_string(i)), first / i});
  }
  return {all, all, all};
}

namespace {

/// Adds a part for each tenant; they divide `work` by their shares.
void add_parts(vector<workload_part>& to, const vector<tenant_share>& tenants, std::uint64_t work,
               std::string_view prefix, const workload_part& like) {
  std::uint64_t sum = 0;
  for (const tenant_share& t : tenants) sum += t.share;
  ALLOT_ASSERT(sum > 0, "somebody submits something");
  // Fine enough for the share of the smallest of a thousand tenants.
  constexpr std::uint64_t unit = 1'000'000;
  for (std::size_t i = 0; i < tenants.size() && work > 0; ++i) {
    workload_part part = like;
    part.tenant = tenants[i].name;
    part.prefix.assign(prefix).append(std::to_string(i + 1));
    part.work = std::max<std::uint64_t>(1, work * unit * tenants[i].share / sum);
    to.push_back(std::move(part));
  }
}

[[nodiscard]] workload_part training_part(job_model model, std::int64_t cluster_gpus) {
  workload_part p;
  p.model = model;
  p.job_class = "train";
  p.checkpoint = 30 * minute;
  p.restart = 2 * minute;
  // The most that a cluster can hold beside other jobs.
  p.largest_gpus = std::min(cluster_gpus, std::max<std::int64_t>(8, cluster_gpus / 4));
  p.has_phases = true;
  return p;
}
[[nodiscard]] workload_part inference_part(job_model model, std::int64_t cluster_gpus) {
  workload_part p;
  p.model = model;
  p.job_class = "inference";
  p.priority = 100;
  p.preemptible = false;
  p.largest_gpus = std::min<std::int64_t>(cluster_gpus, 8);
  return p;
}
/// A notebook's state is lost on eviction, so only a job of higher priority may preempt it.
[[nodiscard]] workload_part interactive_part(std::int64_t cluster_gpus) {
  workload_part p;
  p.model = job_model::interactive;
  p.job_class = "interactive";
  p.priority = 50;
  p.preemptible = false;
  p.largest_gpus = std::min<std::int64_t>(cluster_gpus, 4);
  return p;
}

}  // namespace

vector<workload_part> make_parts(workload_kind kind, const workload_tenants& tenants,
                                 const workload_size& size, const workload_mix& mix) {
  const std::int64_t gpus = size.cluster_gpus;
  vector<workload_part> parts;
  switch (kind) {
    case workload_kind::philly:
      add_parts(parts, tenants.training, 1, "t", training_part(job_model::philly, gpus));
      break;
    case workload_kind::helios:
      add_parts(parts, tenants.training, 1, "t", training_part(job_model::helios, gpus));
      break;
    case workload_kind::openb: {
      // By GPU time the ratio of the two kinds is 58 to 42.
      workload_part best_effort = training_part(job_model::openb_best_effort, gpus);
      best_effort.has_phases = false;
      add_parts(parts, tenants.inference, 58, "s", inference_part(job_model::openb_sensitive, gpus));
      add_parts(parts, tenants.training, 42, "t", best_effort);
      break;
    }
    case workload_kind::inference:
      add_parts(parts, tenants.inference, 1, "s", inference_part(job_model::inference, gpus));
      break;
    case workload_kind::interactive:
      add_parts(parts, tenants.interactive, 1, "i", interactive_part(gpus));
      break;
    case workload_kind::mix: {
      const std::int64_t training = size.load_permille - mix.inference_permille - mix.interactive_permille;
      ALLOT_ASSERT(mix.inference_permille >= 0 && mix.interactive_permille >= 0 && training > 0,
                   "inference and interactive sessions are a part of the load");
      add_parts(parts, tenants.training, static_cast<std::uint64_t>(training), "t",
                training_part(job_model::philly, gpus));
      add_parts(parts, tenants.inference, static_cast<std::uint64_t>(mix.inference_permille), "s",
                inference_part(job_model::inference, gpus));
      add_parts(parts, tenants.interactive, static_cast<std::uint64_t>(mix.interactive_permille), "i",
                interactive_part(gpus));
      break;
    }
  }
  return parts;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
