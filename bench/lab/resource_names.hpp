// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/import_log.hpp"
#include "lab/kubernetes.hpp"
#include "lab/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// What the scenario made of Kubernetes objects counts: the resources of Kubernetes ("nvidia.com/gpu", "cpu",
/// "memory") under the scenario's names and in its units, each in its flavors where it has several.
class resource_names {
 public:
  /// Says that `resource` is counted in `flavor` (empty: in none), in the order of preference.
  void add(const std::string& resource, const std::string& flavor);
  /// Says that such an amount of it will be written, so that a unit can be chosen in which it is exact.
  void add_amount(const std::string& resource, nano_amount amount);
  /// Chooses names and units. There is room for `max_resources`: GPUs first, then CPU and memory; what has
  /// none is noted.
  void choose(import_log& log);

  /// The scenario's "resources".
  [[nodiscard]] const std::vector<std::string>& dimensions() const noexcept { return dimensions_; }
  /// Whether it is counted at all.
  [[nodiscard]] bool counts(std::string_view resource) const;
  /// Whether it is counted by flavor.
  [[nodiscard]] bool has_flavors(std::string_view resource) const;
  /// The dimension of a resource in a flavor, empty when it is not counted there. Of a resource that comes in
  /// one flavor only, its plain name.
  [[nodiscard]] std::string dimension(std::string_view resource, std::string_view flavor) const;
  /// The first flavor in which it is counted.
  [[nodiscard]] std::string first_flavor(std::string_view resource) const;
  /// "gpu" for "nvidia.com/gpu".
  [[nodiscard]] const std::string& plain(std::string_view resource) const;
  /// In thousandths of the scenario's unit, rounded up or down; saturates at what a scenario may say.
  [[nodiscard]] std::int64_t milli(std::string_view resource, nano_amount amount, bool round_up) const;

 private:
  struct entry {
    std::string name;
    /// In order; those that are counted.
    std::vector<std::string> flavors;
    bool is_counted = false;
    /// Every amount is a whole number of bytes that is exact in MiB, to a thousandth.
    bool is_exact_in_mib = true;
  };
  [[nodiscard]] const entry* find(std::string_view resource) const;

  std::map<std::string, entry, std::less<>> entries_;
  std::vector<std::string> order_;
  std::vector<std::string> dimensions_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
