// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// A small, strongly typed index into a dense array. Ids of different tags do not mix.
template <class Tag>
class id {
 public:
  /// The null id.
  constexpr id() noexcept = default;
  /// The null id for an index that is too large.
  explicit constexpr id(std::size_t index) noexcept
      : value_(index < none_value ? static_cast<std::uint32_t>(index) : none_value) {}

  /// The null id.
  [[nodiscard]] static constexpr id none() noexcept { return {}; }
  /// The position in the array; of the null id the largest `std::uint32_t`.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return value_; }
  /// Whether this is the null id.
  [[nodiscard]] constexpr bool is_none() const noexcept { return value_ == none_value; }
  explicit constexpr operator bool() const noexcept { return !is_none(); }

  friend constexpr auto operator<=>(id, id) noexcept = default;
  friend constexpr bool operator==(id, id) noexcept = default;

 private:
  static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value_ = none_value;
};

/// The same for objects that come and go: an index that is reused, and a generation that distinguishes its
/// successive holders. A stale id can therefore be detected.
template <class Tag>
class recycled_id {
 public:
  /// The null id.
  constexpr recycled_id() noexcept = default;
  /// The null id for an index that is too large.
  explicit constexpr recycled_id(std::size_t index, std::uint32_t generation = 0) noexcept
      : index_(index < none_index ? static_cast<std::uint32_t>(index) : none_index),
        generation_(index < none_index ? generation : 0) {}

  /// The null id.
  [[nodiscard]] static constexpr recycled_id none() noexcept { return {}; }
  /// The position in the array; of the null id the largest `std::uint32_t`.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return index_; }
  /// Distinguishes the successive holders of the position.
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
  /// Whether this is the null id.
  [[nodiscard]] constexpr bool is_none() const noexcept { return index_ == none_index; }
  explicit constexpr operator bool() const noexcept { return !is_none(); }

  /// By index, then by generation.
  friend constexpr auto operator<=>(recycled_id, recycled_id) noexcept = default;
  friend constexpr bool operator==(recycled_id, recycled_id) noexcept = default;

 private:
  static constexpr std::uint32_t none_index = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index_ = none_index;
  std::uint32_t generation_ = 0;
};

/// A node of the quota tree. Ids are assigned in the order of the specification, oldest first, and are not
/// reused after a removal, so a smaller id is an older quota.
using quota_id = id<struct quota_tag>;

/// A set of the pods of a job, of those that are alike; numbered by the host.
using pod_set_id = id<struct pod_set_tag>;

/// A job held by a scheduler, from `submit` until it has finished or was cancelled. The id is never reused.
using job_id = recycled_id<struct job_tag>;

}  // namespace v0
}  // namespace allot
