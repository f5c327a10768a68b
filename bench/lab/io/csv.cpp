// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/csv.hpp>

#include <algorithm>
#include <cstring>
#include <istream>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// How much is read at once.
constexpr std::size_t chunk = std::size_t{1} << 16U;

/// Far more than anyone leaves by mistake.
constexpr std::size_t most_empty_lines = 1'000'000;

/// Ends an unquoted field, or may not appear in one.
[[nodiscard]] constexpr bool is_special(char c, csv_dialect d = {}) noexcept {
  return c == d.separator || c == '\n' || c == '\r' || (c == '"' && d.has_quotes) || c == '\0';
}

}  // namespace

std::string to_string(const text_problem& p) {
  std::string text = "line " + std::to_string(p.place.line) + ", column " + std::to_string(p.place.column);
  if (!p.field.empty()) text += " (" + p.field + ")";
  return text + ": " + p.text;
}

std::ptrdiff_t string_source::operator()(char* to, std::size_t size) noexcept {
  const std::size_t n = rest_.copy(to, size);
  rest_.remove_prefix(n);
  return static_cast<std::ptrdiff_t>(n);
}

std::ptrdiff_t stream_source::operator()(char* to, std::size_t size) {
  if (stream_->eof()) return 0;
  if (!stream_->good()) return -1;
  stream_->read(to, static_cast<std::streamsize>(size));
  return stream_->bad() ? -1 : static_cast<std::ptrdiff_t>(stream_->gcount());
}

csv_reader::csv_reader(byte_source source, std::size_t record_limit, csv_dialect dialect)
    : source_(std::move(source)), record_limit_(record_limit), dialect_(dialect) {
  ALLOT_ASSERT(dialect.separator > '\0' && (dialect.separator == ',' || !is_special(dialect.separator)),
               "a separator that means nothing else");
}

csv_reader::outcome csv_reader::next() {
  if (!started_) start();
  std::size_t empty_lines = 0;
  for (;;) {
    if (failed_) return outcome::failed;
    begin_record();
    if (!read_record()) return failed_ ? outcome::failed : outcome::end;
    if (fields_.size() != 1 || fields_[0].begin != fields_[0].end || fields_[0].quoted)
      return outcome::record;
    // A text without end must not be read forever.
    if (++empty_lines > most_empty_lines) {
      fail(place(), "there are more than " + std::to_string(most_empty_lines) + " empty lines together");
    }
  }
}

const text_problem& csv_reader::problem() const {
  ALLOT_ASSERT(failed_, "no problem: nothing failed");
  return problem_;
}

void csv_reader::start() {
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

void csv_reader::begin_record() {
  record_ += next_;
  next_ = 0;
  fields_.clear();
  line_begin_ = 0;
  record_line_ = line_;
}

bool csv_reader::refill() {
  if (at_end_ || failed_) return false;
  if (filled_ == buffer_.size()) {
    const std::size_t kept = filled_ - record_;
    if (kept > record_limit_) return fail_too_long();
    std::memmove(buffer_.data(), data(), kept);
    record_ = 0;
    filled_ = kept;
    if (kept > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
  }
  const std::ptrdiff_t got = source_(buffer_.data() + filled_, buffer_.size() - filled_);
  if (got < 0) return fail(place_at(filled_ - record_), "the text can't be read any further");
  filled_ += static_cast<std::size_t>(got);
  at_end_ = got == 0;
  return !at_end_;
}

bool csv_reader::read_record() {
  if (!has(0)) return false;
  std::size_t at = 0;
  for (;; ++at) {
    at = has(at) && data()[at] == '"' && dialect_.has_quotes ? read_quoted(at) : read_plain(at);
    if (failed_) return false;
    if (!has(at) || data()[at] != dialect_.separator) break;
  }
  next_ = read_line_end(at);
  return !failed_ && (next_ <= record_limit_ || fail_too_long());
}

std::size_t csv_reader::read_plain(std::size_t begin) {
  const text_place place = place_at(begin);
  std::size_t at = begin;
  do {
    const char* byte = data() + at;
    const char* const end = buffer_.data() + filled_;
    if (dialect_ == csv_dialect{}) {
      while (byte != end && (*byte > ',' || !is_special(*byte))) ++byte;
    } else {
      while (byte != end && !is_special(*byte, dialect_)) ++byte;
    }
    at = static_cast<std::size_t>(byte - data());
  } while (record_ + at == filled_ && refill());
  if (!failed_) fields_.push_back({begin, at, place, false});
  return at;
}

std::size_t csv_reader::read_quoted(std::size_t at) {
  opened_ = place_at(at);
  in_quotes_ = true;
  const std::size_t begin = ++at;
  std::size_t end = begin;
  for (;; ++at) {
    if (!has(at)) {
      if (!failed_) fail(opened_, "this quote is never closed");
      return at;
    }
    const char c = data()[at];
    if (c == '\0') {
      fail_zero_byte(at);
      return at;
    }
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
  if (failed_) return at;
  ++at;
  in_quotes_ = false;
  fields_.push_back({begin, end, opened_, true});
  return at;
}

std::size_t csv_reader::read_line_end(std::size_t at) {
  if (!has(at)) {
    is_cut_off_ = true;
    return at;
  }
  const char c = data()[at];
  std::size_t line_end = at;
  if (c == '\r' && has(at + 1)) ++line_end;
  if (failed_) return at;
  if (data()[line_end] == '\n' || (c == '\r' && line_end == at)) {
    at = line_end + 1;
    ++line_;
    line_begin_ = at;
  } else if (c == '\0') {
    fail_zero_byte(at);
  } else if (fields_.back().quoted) {
    fail(place_at(at), dialect_.separator == ','
                           ? "expected a comma or the end of the line after the closing quote"
                           : "expected a separator or the end of the line after the closing quote");
  } else if (c == '"') {
    fail(place_at(at), "a quote inside a field: the whole field must be quoted and the quote doubled");
  } else {
    fail(place_at(at), "a carriage return without a line feed");
  }
  return at;
}

bool csv_reader::fail(text_place place, std::string text) {
  failed_ = true;
  problem_ = {place, {}, std::move(text)};
  fields_.clear();
  return false;
}

bool csv_reader::fail_too_long() {
  std::string text = "the record is longer than " + std::to_string(record_limit_) + " bytes";
  if (in_quotes_) {
    text += ": the quote at line " + std::to_string(opened_.line) + ", column " +
            std::to_string(opened_.column) + " is not closed";
  }
  return fail(place(), std::move(text));
}

bool csv_reader::fail_zero_byte(std::size_t at) {
  return fail(place_at(at), "a zero byte: expected a text in UTF-8, not a binary file");
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, most)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (text.size() > most ? "...\"" : "\"");
}

void append_csv_field(std::string& record, std::string_view text) {
  const auto needs_quotes = [](char c) {
    return c <= ',' && (c == ',' || c == '"' || c == '\r' || c == '\n');
  };
  if (std::none_of(text.begin(), text.end(), needs_quotes)) {
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
