// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// The most groups into which a job's request is divided, each with its own choice of flavors.
inline constexpr std::size_t most_flavor_groups = 8;

/// The flavor chosen in each group of a job: an index into the group's options.
using flavor_pick = std::array<std::uint8_t, most_flavor_groups>;

/// What a job requests of the flavors that it accepts ("h100/gpu", else "a100/gpu"): for each group of its
/// resources the alternatives, best first. A job without groups has no choice.
template <std::size_t N = 1>
class flavor_menu {
 public:
  /// Adds a group; each option is what the group requests under that flavor, in the dimensions of the flavor.
  /// Preconditions: fewer than `most_flavor_groups` so far; 1 to 255 options.
  void add_group(std::span<const resources<N>> options) {
    ALLOT_ASSERT(groups_ < most_flavor_groups, "a job has at most eight groups of flavors");
    ALLOT_ASSERT(!options.empty() && options.size() <= 255, "a group has 1 to 255 flavors");
    sizes_[groups_++] = static_cast<std::uint8_t>(options.size());
    options_.append(options.begin(), options.end());
  }

  /// Whether the job has no choice.
  [[nodiscard]] bool empty() const noexcept { return groups_ == 0; }
  /// The number of groups.
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  /// The alternatives of a group, best first.
  [[nodiscard]] std::span<const resources<N>> options(std::size_t group) const {
    ALLOT_ASSERT(group < groups_, "no such group");
    std::size_t first = 0;
    for (std::size_t g = 0; g < group; ++g) first += sizes_[g];
    return std::span<const resources<N>>{options_}.subspan(first, sizes_[group]);
  }
  /// What all groups request together under a choice.
  [[nodiscard]] resources<N> request(const flavor_pick& pick) const {
    resources<N> sum;
    for (std::size_t g = 0; g < groups_; ++g) sum += options(g)[pick[g]];
    return sum;
  }

  /// The menu of `pods` pods, each with this menu.
  friend flavor_menu operator*(flavor_menu menu, std::int64_t pods) {
    for (resources<N>& option : menu.options_) option = option * pods;
    return menu;
  }

  friend auto operator<=>(const flavor_menu&, const flavor_menu&) noexcept = default;
  friend bool operator==(const flavor_menu&, const flavor_menu&) noexcept = default;

 private:
  vector<resources<N>> options_;
  std::array<std::uint8_t, most_flavor_groups> sizes_{};
  std::size_t groups_ = 0;
};

namespace detail {

/// The menu of a job whose view shows no flavors: an empty one that takes no room.
template <std::size_t N>
struct no_flavors {
  [[nodiscard]] static constexpr bool empty() noexcept { return true; }
  [[nodiscard]] static constexpr std::size_t groups() noexcept { return 0; }
  [[nodiscard]] static constexpr std::span<const resources<N>> options(std::size_t) noexcept { return {}; }
  [[nodiscard]] static constexpr resources<N> request(const flavor_pick&) noexcept { return {}; }
  friend auto operator<=>(const no_flavors&, const no_flavors&) noexcept = default;
  friend bool operator==(const no_flavors&, const no_flavors&) noexcept = default;
};
template <std::size_t N>
[[nodiscard]] constexpr bool advance(flavor_pick&, const no_flavors<N>&) noexcept {
  return false;
}

}  // namespace detail

/// Whether each group of the menu has the picked option.
template <std::size_t N>
[[nodiscard]] bool is_choice(const flavor_menu<N>& menu, const flavor_pick& pick) {
  for (std::size_t g = 0; g < menu.groups(); ++g) {
    if (pick[g] >= menu.options(g).size()) return false;
  }
  return true;
}

/// Advances to the next choice in the order of the menu, changing the last group first, so that the first
/// group keeps its better flavors longest. Returns whether there is one.
template <std::size_t N>
[[nodiscard]] bool advance(flavor_pick& pick, const flavor_menu<N>& menu) {
  for (std::size_t g = menu.groups(); g-- > 0;) {
    if (++pick[g] < menu.options(g).size()) return true;
    pick[g] = 0;
  }
  return false;
}

}  // namespace v0
}  // namespace allot
