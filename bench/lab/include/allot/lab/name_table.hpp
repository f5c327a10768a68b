// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A text in a `name_table`.
using name_id = id<struct name_tag>;

/// Texts that are each kept once and named by the order in which they first came: 0, 1, 2... Nothing depends
/// on how they are hashed.
class name_table {
 public:
  struct interned {
    name_id name;
    /// Whether the text was not in the table before.
    bool added = false;
  };

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }

  /// The text of a name, valid until the next `intern`. Empty for none.
  [[nodiscard]] std::string_view operator[](name_id name) const {
    if (!name) return {};
    ALLOT_ASSERT(name.index() < size(), "a name of this table");
    return text_of(name.index());
  }

  /// The name of `text`, which is added if need be. Amortised O(1), and allocates only to grow.
  interned intern(std::string_view text) {
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(text);
    const std::size_t at = find_slot(text, hash);
    if (slots_[at].is_used()) return {name_id{slots_[at].name}, false};
    ALLOT_ASSERT(size() < std::numeric_limits<std::uint32_t>::max(),
                 "a table holds fewer than 2^32 - 1 names");
    slots_[at] = {hash, static_cast<std::uint32_t>(size())};
    text_ += text;
    ends_.push_back(text_.size());
    return {name_id{size() - 1}, true};
  }

  /// The name of `text`, or none when it is not in the table. O(1).
  [[nodiscard]] name_id find(std::string_view text) const {
    if (slots_.empty()) return name_id::none();
    const slot& found = slots_[find_slot(text, hash_of(text))];
    return found.is_used() ? name_id{found.name} : name_id::none();
  }

 private:
  struct slot {
    static constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t hash = 0;
    std::uint32_t name = unused;

    [[nodiscard]] bool is_used() const noexcept { return name != unused; }
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view text) noexcept {
    const std::uint64_t hash = std::hash<std::string_view>{}(text);
    return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
  }
  [[nodiscard]] std::string_view text_of(std::size_t name) const {
    const std::size_t begin = name == 0 ? 0 : ends_[name - 1];
    return std::string_view{text_}.substr(begin, ends_[name] - begin);
  }

  /// Where `text` stands or would stand. The table is never more than half full, so the probe ends.
  [[nodiscard]] std::size_t find_slot(std::string_view text, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].is_used() && (slots_[at].hash != hash || text_of(slots_[at].name) != text)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    std::vector<slot> larger(slots_.empty() ? 16 : 2 * slots_.size());
    const std::size_t mask = larger.size() - 1;
    for (const slot& s : slots_) {
      if (!s.is_used()) continue;
      std::size_t at = s.hash & mask;
      while (larger[at].is_used()) at = (at + 1) & mask;
      larger[at] = s;
    }
    slots_.swap(larger);
  }

  std::string text_;
  std::vector<std::size_t> ends_;
  std::vector<slot> slots_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
