// SPDX-License-Identifier: BSL-1.0
//
// An inference service whose pods differ: a router, and roles for prefill and decode with minimums of their
// own, all in one rack. It grows evenly into what another team does not use, shrinks to its minimums when
// that team comes, and grows back.
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace gpu = allot::gpu;
using allot::pod_set_id;

struct job {
  std::string name;
  allot::quota_id team;
  std::vector<gpu::pod_set> sets;
  std::uint8_t rack = gpu::any_level;
};

/// What the scheduler sees: pods and minimums, of a job and of each of its sets, and what they request.
struct jobs_view {
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  int priority(job) const { return 0; }

  std::uint32_t pod_sets(job j) const { return static_cast<std::uint32_t>(j->sets.size()); }
  std::uint32_t pods(job j, pod_set_id s) const { return j->sets[s.index()].pods; }
  std::uint32_t min_pods(job j, pod_set_id s) const { return j->sets[s.index()].fewest(); }
  allot::resources<> request(job j, pod_set_id s) const { return j->sets[s.index()].each.gpus; }
  gpu::pod_request pod_request(job j, pod_set_id s) const {
    gpu::pod_request r = pod_request(j, 1);
    r.one_of = static_cast<std::uint8_t>(s.index());
    return r;
  }

  std::uint32_t pods(job j) const {
    return sum(j, [](const auto& s) { return s.pods; });
  }
  std::uint32_t min_pods(job j) const {
    return sum(j, [](const auto& s) { return s.fewest(); });
  }
  allot::resources<> request(job j) const { return request(j, pods(j)); }
  allot::resources<> request(job j, std::uint32_t pods) const {
    const allot::pods_by_set of = list(j).divide(pods);
    allot::resources<> all;
    for (std::size_t s = 0; s < j->sets.size(); ++s) all += request(j, pod_set_id{s}) * of[s];
    return all;
  }
  gpu::pod_request pod_request(job j) const { return pod_request(j, pods(j)); }
  gpu::pod_request pod_request(job j, std::uint32_t pods) const {
    gpu::pod_request r;
    r.sets = list(j);
    r.pods = pods;
    r.required_level = j->rack;
    return r;
  }

 private:
  gpu::pod_set_list list(job j) const { return {j->sets.data(), pod_sets(j)}; }
  template <class Count>
  static std::uint32_t sum(job j, Count count) {
    std::uint32_t all = 0;
    for (const gpu::pod_set& s : j->sets) all += count(s);
    return all;
  }
};

gpu::topology_inventory two_racks() {
  std::vector<gpu::node_spec> specs(2);
  for (std::size_t i = 0; i < 2; ++i) {
    specs[i].name = i == 0 ? "a" : "b";
    specs[i].count = 4;
    specs[i].gpus = 8;
    specs[i].labels = {{"rack", specs[i].name}};
  }
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  gpu::topology racks = gpu::topology_from_labels(nodes, {"rack"}).value();
  return gpu::topology_inventory{std::move(nodes), std::move(racks)};
}

class host {
 public:
  void submit(const char* team, const std::string& name, std::vector<gpu::pod_set> sets, bool in_one_rack) {
    jobs_.push_back(
        {name, lab_.tree().find(team), std::move(sets), in_one_rack ? std::uint8_t{0} : gpu::any_level});
    ids_[name] = lab_.submit(&jobs_.back());
  }
  void finish(const std::string& name) { lab_.finished(ids_.at(name)); }

  /// Decides until nothing happens. Who is evicted leaves at once.
  void settle() {
    allot::settle(lab_, 0, [&](const auto& plan) {
      for (const auto& e : plan.evictions) {
        fmt::print("  {} of {} leaves for {}\n", e.core ? "one pod" : "all", e.what->name,
                   e.beneficiary ? lab_.what(e.beneficiary)->name : "nobody");
        lab_.evicted(e.id);
      }
      for (const auto& a : plan.admissions) {
        if (!a.core) fmt::print("  {} starts\n", a.what->name);
      }
    });
    for (const auto& [name, id] : ids_) {
      if (lab_.state(id) == allot::job_state::running) show(name, id);
    }
  }

 private:
  void show(const std::string& name, allot::job_id id) const {
    const job& j = *lab_.what(id);
    std::map<std::string, std::size_t> nodes;
    const auto look = [&](allot::job_id unit) {
      for (const gpu::placed_pod& p : lab_.places().pods(lab_.place_of(unit)))
        ++nodes[lab_.places().layout().name(p.where.node)];
    };
    std::vector<std::uint32_t> pods;
    for (const gpu::pod_set& s : j.sets) pods.push_back(s.fewest());
    look(id);
    for (const allot::job_id pod : lab_.elastic_pods_of(id)) {
      if (lab_.state(pod) != allot::job_state::running) continue;
      ++pods[lab_.set_of(pod).index()];
      look(pod);
    }
    std::string where;
    for (const auto& [node, count] : nodes) where += fmt::format(" {}:{}", node, count);
    std::string counts;
    for (const std::uint32_t n : pods) counts += (counts.empty() ? "" : " + ") + std::to_string(n);
    fmt::print("  {} runs with {} pods, on{}\n", name, counts, where);
  }

  allot::scheduler_for<allot::standard, jobs_view, gpu::topology_inventory> lab_ =
      allot::make_scheduler(
          allot::standard{}, jobs_view{},
          std::vector<allot::quota_spec<>>{{.name = "lab"},
                                           {.name = "chat", .parent = "lab", .nominal = allot::gpus(9)},
                                           {.name = "train", .parent = "lab", .nominal = allot::gpus(55)}},
          two_racks())
          .value();
  std::deque<job> jobs_;
  std::map<std::string, allot::job_id> ids_;
};

}  // namespace

int main() {
  host h;
  fmt::print("the service starts, and grows:\n");
  h.submit("chat", "service",
           {{.each = {.gpus = allot::gpus(1)}},                             // router
            {.each = {.gpus = allot::gpus(2)}, .pods = 6, .min_pods = 2},   // prefill
            {.each = {.gpus = allot::gpus(4)}, .pods = 4, .min_pods = 1}},  // decode
           true);
  h.settle();
  fmt::print("the other team takes all that is its own:\n");
  h.submit("train", "pretrain", {{.each = {.gpus = allot::gpus(8)}, .pods = 6}}, false);
  h.settle();
  fmt::print("and leaves again:\n");
  h.finish("pretrain");
  h.settle();
}
