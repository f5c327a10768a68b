// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Writes JSON that people can read and programs can compare: members in the order of the calls, outer levels
/// with a line for each member, inner ones on one line, numbers as plain decimals. (Boost.JSON writes
/// everything on one line, and 0.5 as 5E-1.) Texts must be UTF-8. The calls must make one value, in JSON's
/// order: in an object, every value follows its key.
class json_writer {
 public:
  /// Objects and arrays of the first `open_levels` levels have their members on lines of their own.
  explicit json_writer(std::size_t open_levels = 2) : open_levels_(open_levels) {}

  /// An object or array, and its end. Each call returns the writer, for the next one.
  json_writer& begin_object() { return begin('{'); }
  json_writer& end_object() { return end('}'); }
  json_writer& begin_array() { return begin('['); }
  json_writer& end_array() { return end(']'); }

  /// The name of the next value.
  json_writer& key(std::string_view name) {
    separate();
    quote(name);
    text_ += ": ";
    after_key_ = true;
    return *this;
  }

  /// A text, with the escapes that JSON needs.
  json_writer& value(std::string_view s) {
    separate();
    quote(s);
    return *this;
  }
  /// The same.
  json_writer& value(const char* s) { return value(std::string_view{s}); }
  /// The same.
  json_writer& value(const std::string& s) { return value(std::string_view{s}); }
  /// "true" or "false".
  json_writer& value(bool b) { return raw(b ? "true" : "false"); }
  /// A whole number.
  json_writer& value(std::int64_t n) { return raw(std::to_string(n)); }
  /// The same.
  json_writer& value(std::uint64_t n) { return raw(std::to_string(n)); }
  /// In whole units, exactly; an unlimited amount as a string.
  json_writer& value(quantity q) {
    return q.is_bounded() ? raw(to_string(q)) : value(std::string_view{to_string(q)});
  }
  /// Nothing.
  json_writer& null() { return raw("null"); }
  /// A number that is already text.
  json_writer& raw(std::string_view number) {
    separate();
    text_ += number;
    return *this;
  }

  /// A key with its value.
  template <class T>
  json_writer& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  /// The text written so far; ends with a line break once the outermost value is complete.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  struct level {
    bool is_open;
    bool is_empty = true;
  };

  json_writer& begin(char bracket) {
    separate();
    text_ += bracket;
    levels_.push_back({levels_.size() < open_levels_});
    return *this;
  }
  json_writer& end(char bracket) {
    const level closed = levels_.back();
    levels_.pop_back();
    if (closed.is_open && !closed.is_empty) break_line();
    text_ += bracket;
    if (levels_.empty()) text_ += '\n';
    return *this;
  }

  /// Writes what must precede the next value or key.
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (levels_.empty()) return;
    level& now = levels_.back();
    if (!now.is_empty) text_ += ',';
    if (now.is_open) {
      break_line();
    } else if (!now.is_empty) {
      text_ += ' ';
    }
    now.is_empty = false;
  }
  void break_line() {
    text_ += '\n';
    text_.append(2 * levels_.size(), ' ');
  }
  void quote(std::string_view s) {
    constexpr std::string_view digits = "0123456789abcdef";
    text_ += '"';
    for (const char c : s) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (c == '\n') {
        text_ += "\\n";
      } else if (c == '\t') {
        text_ += "\\t";
      } else if (byte < 0x20 || byte == 0x7F) {
        text_ += "\\u00";
        text_ += digits[byte >> 4U];
        text_ += digits[byte & 0xFU];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  vector<level> levels_;
  std::size_t open_levels_;
  bool after_key_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
