// SPDX-License-Identifier: BSL-1.0
// What a Pod says, whoever schedules it.
#pragma once

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
  void add(const std::string& text, const std::string& pod) { notes_[text].add(pod); }
  /// Adds what is not carried over of the spec of a pod or of its template, and matters to its places.
  void look_at(json_value spec, const std::string& pod, errors& found);
  void write(import_log& log, const std::string& kind = "Pod") const;

 private:
  std::map<std::string, named_count> notes_;
};

/// The number if the text is a whole one in decimal digits, as Go's ParseInt reads it.
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text);

/// In thousandths of `unit` billionths, rounded up.
[[nodiscard]] std::int64_t milli_of(nano_amount amount, nano_amount unit = nano);

}  // namespace lab
}  // namespace v0
}  // namespace allot
