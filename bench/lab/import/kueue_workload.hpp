// SPDX-License-Identifier: BSL-1.0
// A Workload of Kueue: what it asks for, what it holds, and whether it is in its queue.
#pragma once

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/kueue_flavors.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// An amount as Kueue counts it: whole units, thousandths of CPU, rounded up, and at most 2^63-1 of them.
[[nodiscard]] nano_amount kueue_amount(std::string_view resource, nano_amount amount);
[[nodiscard]] nano_amount read_kueue_amount(std::string_view resource, json_value value, errors& found);

/// A priority, of 32 bits.
[[nodiscard]] std::optional<std::int64_t> read_priority(json_value from,
                                                        std::initializer_list<std::string_view> path,
                                                        errors& found);

/// What is assigned to the pods of a set, of one resource.
struct kueue_assigned {
  std::string flavor;
  /// Of all pods that run.
  nano_amount amount = 0;

  friend bool operator==(const kueue_assigned&, const kueue_assigned&) = default;
};

struct kueue_pod_set {
  std::string name{};
  /// Without those that are reclaimable.
  std::int64_t pods = 1;
  std::optional<std::int64_t> min_pods{};
  /// For one pod. A resource of which it asks for none is there, too.
  resource_list request{};
  kueue_pod_needs needs{};
  /// Those of an admitted workload, without those that are reclaimable.
  std::int64_t running_pods = 0;
  std::map<std::string, kueue_assigned, std::less<>> assigned{};
};

struct kueue_workload {
  const kubernetes_object* object = nullptr;
  /// "namespace/name" of its LocalQueue; empty if it names none.
  std::string local_queue{};
  /// The ClusterQueue in which it holds quota; empty if it holds none.
  std::string holds_in{};
  vector<kueue_pod_set> pod_sets{};
  /// spec.priority, if it is there.
  std::optional<std::int64_t> priority{};
  /// It is being evicted.
  bool is_going = false;
  /// Why it will not be in its queue again once it has gone.
  std::string stays_out{};
  /// Why it is in no queue now, if it holds no quota.
  std::string is_out{};
  /// That, or what becomes of what it holds, is because it was deactivated.
  bool is_deactivated = false;
  /// Why it is out of its queue until `ready`, or for good if that is over: its condition Requeued is False.
  std::string backs_off{};
  /// Why Kueue does not admit it though it is in its queue.
  std::string is_inadmissible{};
  /// It is not in its queue before that.
  std::optional<instant> ready{};
  instant created = 0;
  /// By which it is sorted.
  instant queued = 0;
  instant started = 0;
  /// The latest point in time that it knows of.
  instant latest = 0;
  std::optional<instant> longest{};
  /// What its annotation allot.dev/estimate-seconds says.
  std::optional<instant> estimate{};

  /// How long a run is expected to take, at most.
  [[nodiscard]] std::optional<instant> expected() const noexcept {
    return estimate && longest ? std::min(*estimate, *longest) : estimate ? estimate : longest;
  }
  [[nodiscard]] bool holds_quota() const noexcept { return !holds_in.empty(); }
  [[nodiscard]] std::int64_t running_pods() const {
    std::int64_t n = 0;
    for (const kueue_pod_set& s : pod_sets) n += s.running_pods;
    return n;
  }
};

/// Reads a Workload that is not finished. What of it can't be carried over is noted, except where that
/// depends on its queue.
[[nodiscard]] kueue_workload read_kueue_workload(const kubernetes_object& object, errors& found,
                                                 import_log& log);

}  // namespace lab
}  // namespace v0
}  // namespace allot
