// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A text in a `name_table`.
using name_id = id<struct name_tag>;

/// Texts stored once each and named by the order of their first occurrence: 0, 1, 2... Nothing depends on how
/// they are hashed.
class name_table {
 public:
  struct interned {
    name_id name;
    /// Whether the text was not in the table before.
    bool added = false;
  };

  name_table() noexcept;
  name_table(const name_table& other);
  /// The other table is left empty.
  name_table(name_table&& other) noexcept;
  name_table& operator=(const name_table& other);
  name_table& operator=(name_table&& other) noexcept;
  ~name_table();

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }

  /// The text of a name, valid until the next `intern`. Empty for none.
  [[nodiscard]] std::string_view operator[](name_id name) const {
    if (!name) return {};
    ALLOT_ASSERT(name.index() < size(), "a name of this table");
    return text_of(name.index());
  }

  /// The name of `text`, which is added if necessary. Amortised O(1), and allocates only to grow.
  interned intern(std::string_view text);

  /// The name of `text`, or none if it is not in the table. O(1).
  [[nodiscard]] name_id find(std::string_view text) const;

 private:
  /// The names by their texts.
  struct index;

  [[nodiscard]] std::string_view text_of(std::size_t name) const {
    const std::size_t begin = name == 0 ? 0 : ends_[name - 1];
    return std::string_view{text_}.substr(begin, ends_[name] - begin);
  }

  std::string text_;
  vector<std::size_t> ends_;
  /// None while the table is empty.
  std::unique_ptr<index> index_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
