// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>

#include <cstddef>
#include <cstdint>
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
  interned intern(std::string_view text);

  /// The name of `text`, or none when it is not in the table. O(1).
  [[nodiscard]] name_id find(std::string_view text) const;

 private:
  struct slot {
    static constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t hash = 0;
    std::uint32_t name = unused;

    [[nodiscard]] bool is_used() const noexcept { return name != unused; }
  };

  [[nodiscard]] std::string_view text_of(std::size_t name) const {
    const std::size_t begin = name == 0 ? 0 : ends_[name - 1];
    return std::string_view{text_}.substr(begin, ends_[name] - begin);
  }

  /// Where `text` stands or would stand. The table is never more than half full, so the probe ends.
  [[nodiscard]] std::size_t find_slot(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::string text_;
  std::vector<std::size_t> ends_;
  std::vector<slot> slots_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
