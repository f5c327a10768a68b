// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// A factor from 0 to 1, in units of 2^-63. Integer arithmetic only, so it is the same on every machine.
class decay_factor {
 public:
  /// The number of parts that make up the factor 1.
  static constexpr std::uint64_t one_in_parts = std::uint64_t{1} << 63U;

  /// 1: nothing is forgotten.
  constexpr decay_factor() noexcept = default;
  explicit constexpr decay_factor(std::uint64_t parts) noexcept : parts_(parts) {}

  /// The factor in units of 2^-63.
  [[nodiscard]] constexpr std::uint64_t parts() const noexcept { return parts_; }
  /// 1 minus this.
  [[nodiscard]] constexpr decay_factor complement() const noexcept {
    return decay_factor{one_in_parts - parts_};
  }
  /// `amount` times the factor, rounded to nearest. Precondition: `amount` is below 2^126.
  [[nodiscard]] constexpr wide of(wide amount) const noexcept {
    const wide high = amount >> 63U;
    const wide low = amount & (one_in_parts - 1);
    return high * parts_ + ((low * parts_ + one_in_parts / 2) >> 63U);
  }
  friend constexpr decay_factor operator*(decay_factor a, decay_factor b) noexcept {
    // As `of`, of what is at most 2^63: in one product.
    return decay_factor{
        static_cast<std::uint64_t>((static_cast<wide>(a.parts_) * b.parts_ + one_in_parts / 2) >> 63U)};
  }
  friend constexpr auto operator<=>(decay_factor, decay_factor) noexcept = default;
  friend constexpr bool operator==(decay_factor, decay_factor) noexcept = default;

 private:
  std::uint64_t parts_ = one_in_parts;
};

namespace detail {

/// The square root of `parts` / 2^63, in the same units, rounded to nearest.
[[nodiscard]] constexpr std::uint64_t root_of(std::uint64_t parts) {
  const wide square = static_cast<wide>(parts) << 63U;
  wide root = 0;
  for (wide bit = wide{1} << 63U; bit != 0; bit >>= 1U) {
    if ((root + bit) * (root + bit) <= square) root += bit;
  }
  return static_cast<std::uint64_t>(square - root * root > root ? root + 1 : root);
}

/// 0.5 to the power of 1/2, 1/4, 1/8, ...
inline constexpr std::array<std::uint64_t, 63> roots_of_half = [] {
  std::array<std::uint64_t, 63> roots{};
  std::uint64_t last = decay_factor::one_in_parts / 2;
  for (std::uint64_t& r : roots) r = last = root_of(last);
  return roots;
}();

}  // namespace detail

/// 0.5 ^ (span / half_life): what is left after `span`. 1 if `half_life` is zero or less, meaning no decay
/// (KAI), or if `span` is. The error is below 2^-56; O(1), about 30 products.
/// Two steps give the same as one, within that error.
[[nodiscard]] constexpr decay_factor half_life_decay(instant span, instant half_life) noexcept {
  if (half_life <= 0 || span <= 0) return {};
  const auto life = static_cast<std::uint64_t>(half_life);
  const auto halvings = static_cast<std::uint64_t>(span) / life;
  if (halvings >= 63) return decay_factor{0};
  const wide rest = static_cast<wide>(static_cast<std::uint64_t>(span) % life) << 63U;
  decay_factor result;
  // The bits of the fraction that are set, from the top: bit 62 - i stands for root i.
  for (auto fraction = static_cast<std::uint64_t>(rest / life); fraction != 0;) {
    const auto i = static_cast<std::size_t>(std::countl_zero(fraction) - 1);
    result = result * decay_factor{detail::roots_of_half[i]};
    fraction ^= std::uint64_t{1} << (62U - i);
  }
  return decay_factor{result.parts() >> halvings};
}

}  // namespace v0
}  // namespace allot
