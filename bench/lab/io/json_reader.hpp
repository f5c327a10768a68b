// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/errors.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

class json_value;
class json_writer;

/// A JSON text, read with comments and trailing commas. Numbers keep their text, so that they can be read
/// exactly, and every value knows its place.
class json_document {
 public:
  enum class kind : std::uint8_t { null, boolean, number, string, array, object };

  /// Parses the text. A syntax error is reported with line and column, and the result is nullopt. A duplicate
  /// key in an object is reported with its place, and reading continues.
  [[nodiscard]] static std::optional<json_document> parse(std::string file, std::string_view text,
                                                          errors& found);

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] json_value root() const noexcept;

 private:
  friend class json_value;
  struct handler;

  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// A range of `texts_`.
  struct text_range {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  struct node {
    kind is = kind::null;
    std::uint32_t parent = none;
    std::uint32_t first_child = none;
    std::uint32_t next_sibling = none;
    /// The number of elements before it in its array.
    std::uint32_t position = 0;
    /// The key of an object member.
    text_range key{};
    /// A string without quotes and escapes, a number or a truth value.
    text_range text{};
  };

  [[nodiscard]] std::string_view text_of(text_range r) const noexcept {
    return std::string_view{texts_}.substr(r.begin, r.size);
  }

  std::string file_;
  std::string texts_;
  vector<node> nodes_;
};

/// A value of a document, which must outlive it.
class json_value {
 public:
  using kind = json_document::kind;

  [[nodiscard]] kind is() const noexcept { return node().is; }
  [[nodiscard]] bool is_string() const noexcept { return is() == kind::string; }
  [[nodiscard]] bool is_number() const noexcept { return is() == kind::number; }
  [[nodiscard]] bool is_array() const noexcept { return is() == kind::array; }
  [[nodiscard]] bool is_object() const noexcept { return is() == kind::object; }
  /// The characters of a string; a number, or true and false, as written.
  [[nodiscard]] std::string_view text() const noexcept { return document_->text_of(node().text); }
  /// The key of an object member.
  [[nodiscard]] std::string_view key() const noexcept { return document_->text_of(node().key); }

  /// Its place as a JSON pointer (RFC 6901). O(depth).
  [[nodiscard]] std::string pointer() const;
  /// For error messages: the value itself if it is short, else its kind.
  [[nodiscard]] std::string shown() const;
  void report(errors& found, std::string text) const;

  /// Calls `visit(json_value)` for every array element or object member, in the order of the text.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = node().first_child; i != json_document::none;
         i = document_->nodes_[i].next_sibling)
      visit(json_value{document_, i});
  }
  /// The member with that key. O(members).
  [[nodiscard]] std::optional<json_value> find(std::string_view key) const;

 private:
  friend class json_document;
  json_value(const json_document* document, std::uint32_t index) noexcept
      : document_(document), index_(index) {}
  [[nodiscard]] const json_document::node& node() const noexcept { return document_->nodes_[index_]; }

  const json_document* document_;
  std::uint32_t index_;
};

inline json_value json_document::root() const noexcept {
  return {this, 0};
}

/// Reads the members of one object. The keys that were asked for are the ones that may be there.
class json_object {
 public:
  json_object(json_value object, errors& found) : object_(object), found_(&found) {}

  [[nodiscard]] const json_value& value() const noexcept { return object_; }

  /// The member with that key. A null is not accepted as absent.
  [[nodiscard]] std::optional<json_value> find(std::string_view key);
  /// The same; reports a missing member.
  [[nodiscard]] std::optional<json_value> require(std::string_view key);
  /// Reports every key that was not asked for, except those that begin with "x-".
  void reject_unknown() const;

 private:
  json_value object_;
  errors* found_;
  vector<std::string_view> known_;
};

// Each of these reports an unexpected value and then returns nullopt or an empty result.

[[nodiscard]] bool expect_object(json_value value, errors& found);
[[nodiscard]] bool expect_array(json_value value, errors& found);
[[nodiscard]] std::optional<std::string> read_string(json_value value, errors& found);
[[nodiscard]] std::optional<bool> read_bool(json_value value, errors& found);
/// A whole number.
[[nodiscard]] std::optional<std::int64_t> read_whole(json_value value, std::int64_t least, std::int64_t most,
                                                     errors& found);
/// A number that is not negative, with at most three decimals, in thousandths. At most 10^12.
[[nodiscard]] std::optional<std::int64_t> read_milli(json_value value, errors& found);
/// The index of the value among `words`.
[[nodiscard]] std::optional<std::size_t> read_word(json_value value, const vector<std::string_view>& words,
                                                   errors& found);
[[nodiscard]] vector<std::string> read_strings(json_value value, errors& found);

/// Writes the value as it was read, but for comments and spaces.
void write_value(json_value value, json_writer& to);

/// The one of `words` most similar to a misspelt `word`; empty if none is similar.
[[nodiscard]] std::string_view nearest(std::string_view word, const vector<std::string_view>& words);

/// " (did you mean "all"?)"; empty if nothing was meant.
[[nodiscard]] std::string did_you_mean(std::string_view meant);
/// The same for the most similar word; if none is similar, " (expected "all" or "none")".
[[nodiscard]] std::string meant_or_expected(std::string_view word, const vector<std::string_view>& words);

/// ""all" or "none"", for two or more words.
[[nodiscard]] std::string listed(const vector<std::string_view>& words);

}  // namespace lab
}  // namespace v0
}  // namespace allot
