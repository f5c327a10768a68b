// SPDX-License-Identifier: BSL-1.0
// A Pod as the importers of KAI and of plain Kubernetes read it.
#pragma once

#include "lab/import/import_fields.hpp"
#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/time.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What the names of resources that are MIG instances begin with.
inline constexpr std::string_view mig_prefix = "nvidia.com/mig-";

/// How far a pod has come.
enum class pod_stage : std::uint8_t {
  /// It may be placed.
  waiting,
  /// It has scheduling gates.
  gated,
  /// It has a node, whether its containers run already or not.
  running,
  /// It has a node, and is being deleted.
  going,
  /// It has ended, or is being deleted without a node.
  ended
};

struct pod_facts {
  const kubernetes_object* object = nullptr;
  std::optional<json_value> spec{};
  pod_stage stage = pod_stage::waiting;
  std::string phase{};
  std::string node{};
  std::optional<instant> started{};
  /// What the scheduler counts for it; of a running pod at least what it was given.
  resource_list request{};
};
[[nodiscard]] pod_facts read_pod_facts(const kubernetes_object& o, errors& found);

/// Notes on pods: the same is said once, with the first of the names.
class pod_notes {
 public:
  pod_notes();
  void add(const std::string& text, const std::string& pod) { notes_[text].add(pod); }
  /// Adds that of these resources only what nodes offer matters.
  void add_others(const resource_list& others, const std::string& pod);
  /// Adds what is not carried over of the spec of a pod or of its template, and matters to its places.
  void look_at(json_value spec, const std::string& pod, errors& found);
  void write(import_log& log, const std::string& kind = "Pod") const;

 private:
  imported_fields fields_;
  std::map<std::string, named_count> notes_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
