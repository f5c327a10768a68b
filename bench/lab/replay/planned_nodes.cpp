// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/planned_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// A name in two parts: "dgx-07" is "dgx-" and 07.
struct numbered_name {
  std::string_view stem;
  std::string_view digits;

  explicit numbered_name(std::string_view name) {
    constexpr std::size_t most_digits = 9;
    std::size_t at = name.size();
    while (at > 0 && name.size() - at < most_digits && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
    stem = name.substr(0, at);
    digits = name.substr(at);
  }
  [[nodiscard]] std::uint64_t number() const {
    std::uint64_t n = 0;
    for (const char c : digits) n = 10 * n + static_cast<std::uint64_t>(c - '0');
    return n;
  }
  /// Whether it is the next name after `before`, by its number.
  [[nodiscard]] bool follows(const numbered_name& before) const {
    if (digits.empty() || before.digits.empty() || stem != before.stem) return false;
    const bool is_padded = digits.front() == '0' || before.digits.front() == '0';
    return number() == before.number() + 1 && (!is_padded || digits.size() == before.digits.size());
  }
};

}  // namespace

std::string text_of_nodes(const gpu::cluster& layout, std::span<const gpu::node_id> nodes) {
  constexpr std::size_t most_rows = 6;
  vector<gpu::node_id> all(nodes.begin(), nodes.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string text;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < all.size(); ++rows) {
    if (rows == most_rows) return text + " and " + std::to_string(all.size() - i) + " more";
    std::size_t last = i;
    const auto name = [&](std::size_t k) -> const std::string& { return layout.name(all[k]); };
    for (numbered_name before{name(i)}; last + 1 < all.size(); ++last) {
      const numbered_name next{name(last + 1)};
      if (!next.follows(before)) break;
      before = next;
    }
    if (last == i + 1) last = i;
    if (i > 0) text += ", ";
    text += name(i);
    if (last > i) text.append(" to ").append(name(last));
    i = last + 1;
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
