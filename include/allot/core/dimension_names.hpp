// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/text.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {

/// The names of the `N` dimensions of a quota tree, for input and output only: no decision depends on them.
/// By default a single dimension is called "gpu", and several are called by their numbers.
template <std::size_t N = 1>
class dimension_names {
 public:
  dimension_names() : dimension_names(std::span<const std::string>{}) {
    if (N == 1) names_[0] = "gpu";
  }
  /// The names in the order of the dimensions. A missing or empty name defaults to the number; names beyond
  /// the last dimension are ignored.
  dimension_names(std::initializer_list<std::string_view> names) { assign(names); }
  explicit dimension_names(std::span<const std::string> names) { assign(names); }

  /// The number of dimensions.
  [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
  /// Empty if there is no such dimension.
  [[nodiscard]] std::string_view operator[](std::size_t dimension) const noexcept {
    return dimension < N ? std::string_view{names_[dimension]} : std::string_view{};
  }
  /// The first dimension with that name. O(N).
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept {
    const auto at = detail::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - names_.begin());
  }
  /// The nonzero amounts with their names: "4 h100/gpu, 16 cpu". "nothing" if all are zero.
  [[nodiscard]] std::string text(const resources<N>& amounts) const {
    std::string all;
    for (std::size_t d = 0; d < N; ++d) {
      if (amounts[d] == quantity{}) continue;
      if (!all.empty()) all += ", ";
      all.append(to_string(amounts[d])).append(1, ' ').append(names_[d]);
    }
    return all.empty() ? "nothing" : all;
  }

  friend bool operator==(const dimension_names&, const dimension_names&) = default;

 private:
  template <class Names>
  void assign(const Names& names) {
    auto name = names.begin();
    for (std::size_t d = 0; d < N; ++d) {
      if (name != names.end()) names_[d] = *name++;
      if (names_[d].empty()) names_[d] = std::to_string(d);
    }
  }

  std::array<std::string, N> names_;
};

}  // namespace v0
}  // namespace allot
