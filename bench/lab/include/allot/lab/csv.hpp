// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Where something stands in a text. Both count from 1; a column is a byte of its line.
struct text_place {
  std::size_t line = 1;
  std::size_t column = 1;

  friend constexpr bool operator==(const text_place&, const text_place&) noexcept = default;
};

/// One thing that is wrong with a text that was read.
struct text_problem {
  text_place place;
  /// The name of the column or key that it is about, if it is about one.
  std::string field;
  /// A sentence for a person, without the place.
  std::string text;
};

/// "line 40001, column 9 (gpus): ..."
[[nodiscard]] inline std::string to_string(const text_problem& p) {
  std::string text = "line " + std::to_string(p.place.line) + ", column " + std::to_string(p.place.column);
  if (!p.field.empty()) text += " (" + p.field + ")";
  return text + ": " + p.text;
}

/// Where a text comes from: called with room for `size` bytes, it fills in some of them and returns how many,
/// 0 at the end, and a negative number when reading fails.
template <class Source>
concept byte_source = requires(Source source, char* to, std::size_t size) {
  { source(to, size) } -> std::convertible_to<std::ptrdiff_t>;
};

/// A text in memory as a `byte_source`.
class string_source {
 public:
  explicit constexpr string_source(std::string_view text) noexcept : rest_(text) {}

  std::ptrdiff_t operator()(char* to, std::size_t size) noexcept {
    const std::size_t n = rest_.copy(to, size);
    rest_.remove_prefix(n);
    return static_cast<std::ptrdiff_t>(n);
  }

 private:
  std::string_view rest_;
};

/// A stream, which should be binary, as a `byte_source`. It must outlive the source. One that was never open
/// can't be read.
class stream_source {
 public:
  explicit stream_source(std::istream& stream) noexcept : stream_(&stream) {}

  std::ptrdiff_t operator()(char* to, std::size_t size) {
    if (stream_->eof()) return 0;
    if (!stream_->good()) return -1;
    stream_->read(to, static_cast<std::streamsize>(size));
    return stream_->bad() ? -1 : static_cast<std::ptrdiff_t>(stream_->gcount());
  }

 private:
  std::istream* stream_;
};

/// Reads the records of a CSV text (RFC 4180, UTF-8): quoted fields with doubled quotes, commas and line ends
/// in them; CRLF or LF; an optional byte order mark. Lines with nothing on them are skipped. What the RFC
/// does not allow is a failure with its place: a quote that opens inside a field, text after a closing one,
/// a quote that is never closed, a carriage return alone. So are a zero byte and UTF-16.
///
/// Memory is bounded by the longest record, and that by a limit: a line of 200 MB fails after 1 MiB of it.
template <byte_source Source>
class csv_reader {
 public:
  static constexpr std::size_t default_record_limit = std::size_t{1} << 20U;

  enum class outcome { record, end, failed };

  explicit csv_reader(Source source, std::size_t record_limit = default_record_limit)
      : source_(std::move(source)), record_limit_(record_limit) {}

  /// Goes on to the next record. After `end` or `failed` it says the same again.
  outcome next() {
    if (!started_) start();
    do {
      if (failed_) return outcome::failed;
      begin_record();
      if (!read_record()) return failed_ ? outcome::failed : outcome::end;
    } while (is_blank());
    return outcome::record;
  }

  /// The number of fields of the record.
  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  /// The text of field `i`, unquoted; valid until `next`.
  [[nodiscard]] std::string_view text(std::size_t i) const {
    const field& f = checked(i);
    return {buffer_.data() + record_ + f.begin, f.end - f.begin};
  }
  /// Where field `i` begins (its opening quote, when it has one).
  [[nodiscard]] text_place place(std::size_t i) const { return checked(i).place; }
  /// Where the record begins.
  [[nodiscard]] text_place place() const noexcept { return {record_line_, 1}; }
  /// Whether the text ended in the middle of the record, without a line break: it may be truncated.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// What went wrong. Precondition: `next` returned `failed`.
  [[nodiscard]] const text_problem& problem() const {
    ALLOT_ASSERT(failed_, "no problem: nothing failed");
    return problem_;
  }

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
  [[nodiscard]] bool is_blank() const noexcept {
    return fields_.size() == 1 && fields_[0].begin == fields_[0].end && !fields_[0].quoted;
  }

  bool fail(text_place place, std::string text) {
    failed_ = true;
    problem_ = {place, {}, std::move(text)};
    fields_.clear();
    return false;
  }

  void start() {
    started_ = true;
    buffer_.resize(chunk);
    const auto begins_with = [this](std::string_view mark) {
      while (filled_ < mark.size() && refill()) {
      }
      return std::string_view{buffer_.data(), filled_}.substr(0, mark.size()) == mark;
    };
    if (begins_with("\xEF\xBB\xBF")) {
      next_ = 3;
    } else if (begins_with("\xFF\xFE") || begins_with("\xFE\xFF")) {
      fail({}, "the text is UTF-16; expected UTF-8");
    }
  }

  void begin_record() {
    record_ += next_;
    next_ = 0;
    fields_.clear();
    line_begin_ = 0;
    record_line_ = line_;
  }

  /// Whether the record has a byte at `offset`, which is at most one past those that are known.
  [[nodiscard]] bool has(std::size_t offset) { return record_ + offset < filled_ || refill(); }

  /// Gets more bytes; false at the end of the text and on failure.
  bool refill() {
    if (at_end_ || failed_) return false;
    if (filled_ == buffer_.size()) {
      const std::size_t kept = filled_ - record_;
      if (kept > record_limit_) return fail_too_long();
      std::memmove(buffer_.data(), data(), kept);
      record_ = 0;
      filled_ = kept;
      if (kept > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
    }
    const auto got = static_cast<std::ptrdiff_t>(source_(buffer_.data() + filled_, buffer_.size() - filled_));
    if (got < 0) return fail(place_at(filled_ - record_), "the text can't be read any further");
    filled_ += static_cast<std::size_t>(got);
    at_end_ = got == 0;
    return !at_end_;
  }

  bool fail_too_long() {
    std::string text = "the record is longer than " + std::to_string(record_limit_) + " bytes";
    if (in_quotes_) {
      text += ": the quote at line " + std::to_string(opened_.line) + ", column " +
              std::to_string(opened_.column) + " is not closed";
    }
    return fail(place(), std::move(text));
  }

  /// Reads one record into `fields_`; false at the end of the text and on failure.
  bool read_record() {
    if (!has(0)) return false;
    std::size_t at = 0;
    bool more = true;
    while (more) {
      if (!(has(at) && data()[at] == '"' ? read_quoted(at) : read_plain(at)) || failed_) return false;
      if (!read_separator(at, more)) return false;
    }
    next_ = at;
    return next_ <= record_limit_ || fail_too_long();
  }

  /// Reads a field without quotes and leaves `at` on what ends it.
  bool read_plain(std::size_t& at) {
    const std::size_t begin = at;
    const text_place place = place_at(at);
    do {
      const char* byte = data() + at;
      const char* const end = buffer_.data() + filled_;
      while (byte != end && (*byte > ',' || !is_special(*byte))) ++byte;
      at = static_cast<std::size_t>(byte - data());
    } while (record_ + at == filled_ && refill());
    if (failed_) return false;
    fields_.push_back({begin, at, place, false});
    return true;
  }

  [[nodiscard]] static constexpr bool is_special(char c) noexcept {
    return c == ',' || c == '\n' || c == '\r' || c == '"' || c == '\0';
  }

  /// Reads a field in quotes, closing the gaps that doubled quotes leave, and leaves `at` behind it.
  bool read_quoted(std::size_t& at) {
    opened_ = place_at(at);
    in_quotes_ = true;
    const std::size_t begin = ++at;
    std::size_t end = begin;
    for (;; ++at) {
      if (!has(at)) return failed_ ? false : fail(opened_, "this quote is never closed");
      char c = data()[at];
      if (c == '\0') return fail_zero_byte(at);
      if (c == '"') {
        if (!has(at + 1) || data()[at + 1] != '"') break;
        ++at;
      }
      data()[end++] = c;
      if (c == '\n') {
        ++line_;
        line_begin_ = at + 1;
      }
    }
    if (failed_) return false;
    ++at;
    in_quotes_ = false;
    fields_.push_back({begin, end, opened_, true});
    return true;
  }

  bool fail_zero_byte(std::size_t at) {
    return fail(place_at(at), "a zero byte: expected a text in UTF-8, not a binary file");
  }

  /// Steps over what stands behind a field; `more` says whether another field follows.
  bool read_separator(std::size_t& at, bool& more) {
    more = false;
    if (!has(at)) {
      is_cut_off_ = true;
      return !failed_;
    }
    const char c = data()[at];
    if (c == ',') {
      ++at;
      more = true;
      return true;
    }
    std::size_t line_end = at;
    if (c == '\r' && has(at + 1)) ++line_end;
    if (failed_) return false;
    if (c == '\0') return fail_zero_byte(at);
    if (data()[line_end] == '\n' || (c == '\r' && line_end == at)) {
      at = line_end + 1;
      ++line_;
      line_begin_ = at;
      return true;
    }
    if (fields_.back().quoted) {
      return fail(place_at(at), "expected a comma or the end of the line after the closing quote");
    }
    if (c == '"') {
      return fail(place_at(at),
                  "a quote inside a field: the whole field must be quoted and the quote doubled");
    }
    return fail(place_at(at), "a carriage return without a line feed");
  }

  static constexpr std::size_t chunk = std::size_t{1} << 16U;

  Source source_;
  std::size_t record_limit_;
  std::vector<char> buffer_;
  std::vector<field> fields_;
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

/// The start of a field as a message can show it.
[[nodiscard]] inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, most)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (text.size() > most ? "...\"" : "\"");
}

/// Appends `text` as one field of a record, in quotes when it needs them.
inline void append_csv_field(std::string& record, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    record += text;
    return;
  }
  record += '"';
  for (const char c : text) {
    if (c == '"') record += '"';
    record += c;
  }
  record += '"';
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
