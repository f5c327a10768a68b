// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace sim {

/// A fingerprint of inputs and decisions: 64-bit FNV-1a, the same on every machine. Detects accidental
/// differences; it does not protect against deliberate collisions.
class fingerprint {
 public:
  /// @{
  /// Adds to the fingerprint.
  constexpr void add(std::string_view bytes) noexcept {
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  /// As eight bytes, least significant first, whatever the machine's byte order.
  constexpr void add(std::uint64_t number) noexcept {
    for (unsigned shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(number >> shift));
  }
  constexpr void add(std::int64_t number) noexcept { add(static_cast<std::uint64_t>(number)); }
  /// @}

  /// The length of a text, then its bytes, so that the next text can't be mistaken for a continuation.
  constexpr void add_text(std::string_view text) noexcept {
    add(std::uint64_t{text.size()});
    add(text);
  }

  /// The fingerprint of what was added so far.
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return state_; }
  /// Sixteen hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    std::string digits(16, '0');
    for (std::size_t i = 0; i < digits.size(); ++i) {
      digits[i] = "0123456789abcdef"[(state_ >> (60 - 4 * i)) & 0xFU];
    }
    return digits;
  }

 private:
  constexpr void add_byte(unsigned char byte) noexcept { state_ = (state_ ^ byte) * 0x100000001B3U; }

  std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
