// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A position in a text. Both count from 1; a column is a byte of its line.
struct text_place {
  std::size_t line = 1;
  std::size_t column = 1;

  friend constexpr bool operator==(const text_place&, const text_place&) noexcept = default;
};

/// One problem with a text that was read.
struct text_problem {
  text_place place;
  /// The name of the column or key concerned, if any.
  std::string field;
  /// A sentence for users, without the position.
  std::string text;
};

/// "line 40001, column 9 (gpus): ..."
[[nodiscard]] std::string to_string(const text_problem& p);

/// A source of text: called with room for `size` bytes, it fills in some of them and returns how many, 0 at
/// the end, and a negative number if reading fails. Readers request tens of thousands of bytes at once.
using byte_source = std::function<std::ptrdiff_t(char* to, std::size_t size)>;

/// A text in memory as a `byte_source`. It must outlive the source.
class string_source {
 public:
  explicit string_source(std::string_view text) noexcept : rest_(text) {}

  std::ptrdiff_t operator()(char* to, std::size_t size) noexcept;

 private:
  std::string_view rest_;
};

/// A stream, which should be binary, as a `byte_source`. It must outlive the source. One that was never
/// opened can't be read.
class stream_source {
 public:
  explicit stream_source(std::istream& stream) noexcept : stream_(&stream) {}

  std::ptrdiff_t operator()(char* to, std::size_t size);

 private:
  std::istream* stream_;
};

/// What separates the fields of a record, and whether quotes mean anything.
struct csv_dialect {
  /// A byte of ASCII that is neither a quote nor the end of a line.
  char separator = ',';
  /// Without quotes a field can't have the separator or the end of a line in it, and a quote is a byte like
  /// any other.
  bool has_quotes = true;

  friend constexpr bool operator==(const csv_dialect&, const csv_dialect&) = default;
};

/// Reads the records of a CSV text (RFC 4180, UTF-8): quoted fields with doubled quotes, commas and line ends
/// in them; CRLF or LF; an optional byte order mark. Empty lines are skipped. What the RFC does not allow is
/// a failure with its position: a quote that opens inside a field, text after a closing one, a quote that is
/// never closed, a lone carriage return. So are a zero byte, UTF-16, and more than a million empty lines
/// together.
///
/// Memory is bounded by the longest record, which is limited: a line of 200 MB fails after 1 MiB of it.
class csv_reader {
 public:
  static constexpr std::size_t default_record_limit = std::size_t{1} << 20U;

  enum class outcome { record, end, failed };

  explicit csv_reader(byte_source source, std::size_t record_limit = default_record_limit,
                      csv_dialect dialect = {});

  /// Advances to the next record. After `end` or `failed` it returns the same again. O(bytes of the record).
  outcome next();

  /// The number of fields of the record.
  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  /// The text of field `i`, unquoted; valid until `next`.
  [[nodiscard]] std::string_view text(std::size_t i) const {
    const field& f = checked(i);
    return {buffer_.data() + record_ + f.begin, f.end - f.begin};
  }
  /// Where field `i` begins (its opening quote, if it has one).
  [[nodiscard]] text_place place(std::size_t i) const { return checked(i).place; }
  /// Where the record begins.
  [[nodiscard]] text_place place() const noexcept { return {record_line_, 1}; }
  /// Whether the text ended in the middle of the record, without a line break: it may be truncated.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// What went wrong. Precondition: `next` returned `failed`.
  [[nodiscard]] const text_problem& problem() const;

 private:
  /// Offsets count from the beginning of the record, which moves when the buffer is refilled.
  struct field {
    std::size_t begin = 0;
    std::size_t end = 0;
    text_place place;
    bool quoted = false;
  };

  [[nodiscard]] const field& checked(std::size_t i) const {
    ALLOT_ASSERT(i < fields_.size(), "a field of this record");
    return fields_[i];
  }
  [[nodiscard]] char* data() noexcept { return buffer_.data() + record_; }
  [[nodiscard]] text_place place_at(std::size_t offset) const noexcept {
    return {line_, offset - line_begin_ + 1};
  }
  /// Whether the record has a byte at `offset`, which is at most one past those that are known.
  [[nodiscard]] bool has(std::size_t offset) { return record_ + offset < filled_ || refill(); }

  void start();
  void begin_record();
  /// Reads more bytes; false at the end of the text and on failure.
  bool refill();
  /// Reads one record into `fields_`; false at the end of the text and on failure.
  bool read_record();
  /// Each reads what begins at an offset and returns the offset after it: an unquoted field; a quoted one,
  /// closing the gaps that doubled quotes leave; the end of a line.
  std::size_t read_plain(std::size_t begin);
  std::size_t read_quoted(std::size_t at);
  std::size_t read_line_end(std::size_t at);
  /// All return false.
  bool fail(text_place place, std::string text);
  bool fail_too_long();
  bool fail_zero_byte(std::size_t at);

  byte_source source_;
  std::size_t record_limit_;
  csv_dialect dialect_;
  vector<char> buffer_;
  vector<field> fields_;
  std::size_t record_ = 0;      // where the record begins in the buffer
  std::size_t filled_ = 0;      // how much of the buffer holds text
  std::size_t next_ = 0;        // where the next record begins, counted from this one
  std::size_t line_ = 1;        // the line that is being read
  std::size_t line_begin_ = 0;  // where it begins, counted from the record
  std::size_t record_line_ = 1;
  text_place opened_;
  text_problem problem_;
  bool in_quotes_ = false;
  bool is_cut_off_ = false;
  bool started_ = false;
  bool at_end_ = false;
  bool failed_ = false;
};

/// The start of a field, for display in a message.
[[nodiscard]] std::string shown(std::string_view text);

/// Appends `text` as one field of a record, quoted if necessary.
void append_csv_field(std::string& record, std::string_view text);

}  // namespace lab
}  // namespace v0
}  // namespace allot
