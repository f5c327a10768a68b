// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/quota/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// What a cycle remembers of past usage, as numbers to persist: a history, and the amounts that it was last
/// told.
template <std::size_t N>
[[nodiscard]] std::vector<std::uint64_t> saved_usage(const usage_history<N>& history,
                                                     const std::vector<resources<N>>& told) {
  std::vector<std::uint64_t> numbers = history.save();
  for (const resources<N>& r : told) {
    for (const quantity q : r) numbers.push_back(static_cast<std::uint64_t>(q.in_milli()));
  }
  return numbers;
}
/// Reads that again, for as many amounts as there are now. Returns false, and changes nothing, if the numbers
/// are none of that.
template <std::size_t N>
[[nodiscard]] bool restore_usage(const quota_tree<N>& tree, std::span<const std::uint64_t> numbers,
                                 usage_history<N>& history, std::vector<resources<N>>& told) {
  const std::size_t tail = told.size() * N;
  if (numbers.size() < tail || !history.restore(tree, numbers.first(numbers.size() - tail))) return false;
  auto at = numbers.end() - static_cast<std::ptrdiff_t>(tail);
  for (resources<N>& r : told) {
    for (std::size_t d = 0; d < N; ++d) r[d] = quantity::milli(static_cast<std::int64_t>(*at++));
  }
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
