// SPDX-License-Identifier: BSL-1.0
//
// Thirteen workloads on 16 GPUs: training on whole GPUs beside seven notebooks that share two of them, one of
// which requests memory instead of a portion. All 16 are full; further requests get the reason why they must
// wait.
#include <allot/core/text.hpp>
#include <allot/gpu/inventory.hpp>

#include <fmt/core.h>

#include <bit>
#include <map>
#include <string>
#include <vector>

namespace {

using allot::quantity;
namespace gpu = allot::gpu;

struct workload {
  std::string name;
  std::string asks;
  gpu::pod_request pod_request;
};

const std::vector<workload> workloads{
    {"pretrain", "4 GPUs", {.gpus = allot::gpus(4)}},
    {"sweep", "3 GPUs", {.gpus = allot::gpus(3)}},
    {"finetune-1", "2 GPUs", {.gpus = allot::gpus(2)}},
    {"finetune-2", "2 GPUs", {.gpus = allot::gpus(2)}},
    {"serving", "2 pods of 1 GPU", {.gpus = allot::gpus(1), .pods = 2}},
    {"eval", "1 GPU", {.gpus = allot::gpus(1)}},
    {"ana", "half a GPU", {.gpus = quantity::milli(500)}},
    {"ben", "a quarter", {.gpus = quantity::milli(250)}},
    {"cleo", "a quarter", {.gpus = quantity::milli(250)}},
    {"dan", "a quarter", {.gpus = quantity::milli(250)}},
    {"eve", "a quarter", {.gpus = quantity::milli(250)}},
    {"finn", "16380 MiB of one", {.gpu_memory_mib = 16380}},
    {"gus", "0.3 of a GPU", {.gpus = quantity::milli(300)}},
};

class machines {
 public:
  void start(const workload& w) {
    const auto placed = inventory_.place(w.pod_request);
    if (!placed) return say_why_not(w);
    running_.emplace(w.name, *placed);
    fmt::print("{:<12}{:<18}", w.name, w.asks);
    const char* between = "";
    for (const gpu::placed_pod& pod : inventory_.pods(*placed)) {
      fmt::print("{}{}", between, describe(pod));
      between = ", and ";
    }
    fmt::print("\n");
  }
  void stop(const std::string& name) {
    inventory_.release(running_.at(name));
    running_.erase(name);
    fmt::print("{} is closed: {} of {} GPUs are in use\n", name, to_string(inventory_.used()),
               to_string(inventory_.total()));
  }
  void show() const {
    for (std::size_t n = 0; n < inventory_.layout().size(); ++n) {
      fmt::print("\n{}\n", inventory_.layout().name(gpu::node_id{n}));
      for (std::uint32_t d = 0; d < inventory_.layout().gpus(gpu::node_id{n}); ++d) {
        fmt::print("  {}  {}\n", d, who_is_on(gpu::node_id{n}, d));
      }
    }
    fmt::print("\n{} of {} GPUs are in use\n\n", to_string(inventory_.used()), to_string(inventory_.total()));
  }

 private:
  [[nodiscard]] std::string describe(const gpu::placed_pod& pod) const {
    std::string text = fmt::format("{}, {} ", inventory_.layout().name(pod.where.node),
                                   std::has_single_bit(pod.where.devices) ? "device" : "devices");
    const char* comma = "";
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      text += fmt::format("{}{}", comma, std::countr_zero(left));
      comma = ",";
    }
    if (pod.milli == gpu::milli_per_gpu) return text;
    const auto memory = inventory_.layout().type_of(pod.where.node).gpu_memory_mib;
    return text + fmt::format(": {} of {}, {} MiB", to_string(quantity::milli(pod.milli)),
                              std::has_single_bit(pod.where.devices) ? "it" : "each",
                              gpu::memory_of_portion(pod.milli, memory));
  }
  [[nodiscard]] std::string who_is_on(gpu::node_id node, std::uint32_t device) const {
    std::string names;
    for (const workload& w : workloads) {
      const auto at = running_.find(w.name);
      if (at == running_.end()) continue;
      for (const gpu::placed_pod& pod : inventory_.pods(at->second)) {
        if (pod.where.node != node || (pod.where.devices >> device & 1U) == 0) continue;
        if (!names.empty()) names += ", ";
        names += w.name;
        if (pod.milli < gpu::milli_per_gpu) names.append(" ").append(to_string(quantity::milli(pod.milli)));
      }
    }
    return names;
  }
  void say_why_not(const workload& w) const {
    const gpu::unplaceable why = inventory_.why_not(w.pod_request);
    fmt::print("{:<12}{:<18}waits: {}; it asks for {}, {} are free, the largest block is {}\n", w.name,
               w.asks, gpu::to_string(why.reason), to_string(why.asked), to_string(why.free),
               to_string(why.largest_block));
  }

  gpu::inventory inventory_{
      gpu::build_cluster(
          {{.name = "dgx", .count = 2, .gpus = 8, .gpu_model = "A100-SXM4-80GB", .gpu_memory_mib = 81920}})
          .value()};
  std::map<std::string, gpu::allocation_id> running_;
};

}  // namespace

int main() {
  machines cluster;
  for (const workload& w : workloads) cluster.start(w);
  cluster.show();

  const workload more{"more", "1 GPU", {.gpus = allot::gpus(1)}};
  const workload ida{"ida", "half a GPU", {.gpus = quantity::milli(500)}};
  const workload kim{"kim", "0.2 of 2 GPUs", {.gpus = quantity::milli(200), .devices = 2}};
  cluster.start(more);
  cluster.stop("ana");
  cluster.stop("dan");
  cluster.stop("eve");
  // As much as it requests is free, but on two devices.
  cluster.start(more);
  cluster.start(kim);
  cluster.start(ida);
}
