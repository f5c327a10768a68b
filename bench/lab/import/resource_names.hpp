// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/scenario/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a scenario made from Kubernetes objects counts: the resources of Kubernetes ("nvidia.com/gpu", "cpu",
/// "memory") under the scenario's names and in its units, by flavor if there are several.
class resource_names {
 public:
  /// Declares that `resource` is counted in `flavor` (empty: in none), in order of preference.
  void add(const std::string& resource, const std::string& flavor);
  /// Declares an amount that will be written, so that a unit can be chosen in which it is exact.
  void add_amount(const std::string& resource, nano_amount amount);
  /// The same for what a job asks for, with `count` of which a unit must not be too small.
  void add_request(const std::string& resource, nano_amount amount, std::int64_t count);
  /// Chooses names and units. There is room for `max_resources`: GPUs first, then CPU and memory. What does
  /// not fit is noted.
  void choose(import_log& log);
  /// Counts one more under its own name, without flavors, if there is room. After `choose`.
  void add_plain(const std::string& name);

  /// The scenario's "resources".
  [[nodiscard]] const vector<std::string>& dimensions() const noexcept { return dimensions_; }
  /// Whether the resource is counted at all.
  [[nodiscard]] bool counts(std::string_view resource) const;
  /// Whether the resource is counted by flavor.
  [[nodiscard]] bool has_flavors(std::string_view resource) const;
  /// The dimension of a resource in a flavor; empty if it is not counted there. If the resource has only one
  /// flavor, its plain name.
  [[nodiscard]] std::string dimension(std::string_view resource, std::string_view flavor) const;
  /// "gpu" for "nvidia.com/gpu".
  [[nodiscard]] const std::string& plain(std::string_view resource) const;
  /// Whether a scenario can say that amount of it.
  [[nodiscard]] bool can_say(std::string_view resource, nano_amount amount) const;
  /// In thousandths of the scenario's unit, rounded up or down; saturates at the maximum of a scenario.
  [[nodiscard]] std::int64_t milli(std::string_view resource, nano_amount amount, bool round_up) const;

 private:
  struct entry {
    std::string name;
    /// The flavors that are counted, in order.
    vector<std::string> flavors;
    bool is_counted = false;
    /// Every amount that fits is exact in MiB, to a thousandth.
    bool is_exact_in_mib = true;
    nano_amount most = 0;
    nano_amount most_asked = 0;
    nano_amount unit = nano;
  };
  /// Chooses the unit of a resource that is counted in bytes, and returns what it adds to the name.
  [[nodiscard]] static std::string_view choose_unit(const std::string& resource, entry& e, import_log& log);
  [[nodiscard]] const entry* find(std::string_view resource) const;

  std::map<std::string, entry, std::less<>> entries_;
  vector<std::string> order_;
  vector<std::string> dimensions_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
