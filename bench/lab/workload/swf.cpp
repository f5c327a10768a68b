// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/swf.hpp>

#include <allot/lab/decimal.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The initial size of the read buffer.
constexpr std::size_t first_buffer = std::size_t{1} << 16U;
constexpr std::size_t most_header_lines = 1000;
/// Empty ones or comments: far more than any file has.
constexpr std::size_t most_lines_without_job = 1'000'000;
/// Far beyond any machine or calendar, and small enough that thousandths of sums can't overflow.
constexpr std::int64_t most_units = 1'000'000'000'000;

}  // namespace

swf_reader::swf_reader(byte_source source, std::size_t line_limit, std::span<const swf_field> unneeded)
    : source_(std::move(source)), line_limit_(line_limit) {
  is_needed_.fill(true);
  for (const swf_field f : unneeded) is_needed_[static_cast<std::size_t>(f)] = false;
}

swf_reader::outcome swf_reader::next() {
  problems_.clear();
  std::size_t empty_lines = 0;
  for (;;) {
    std::string_view text;
    const line_outcome o = next_line(text);
    if (o == line_outcome::failed) return outcome::failed;
    if (o == line_outcome::end) return outcome::end;
    const std::size_t comment = text.find(';');
    if (comment != std::string_view::npos) {
      const std::string_view before = text.substr(0, comment);
      const bool is_all = before.find_first_not_of(" \t") == std::string_view::npos;
      if (is_all && !has_jobs_) read_header(text.substr(comment + 1));
      text = before;
    }
    if (text.find_first_not_of(" \t") == std::string_view::npos) {
      // A text without end must not be read forever.
      if (++empty_lines <= most_lines_without_job) continue;
      fail("there are more than " + std::to_string(most_lines_without_job) + " lines together without a job");
      return outcome::failed;
    }
    has_jobs_ = true;
    read_job(text);
    return is_job_ ? outcome::job : outcome::bad_line;
  }
}

std::optional<std::string_view> swf_reader::header(std::string_view name) const {
  for (const header_line& h : header_) {
    if (h.name == name) return h.value;
  }
  return std::nullopt;
}

swf_reader::line_outcome swf_reader::next_line(std::string_view& text) {
  if (failed_) {
    problems_.push_back(failure_);
    return line_outcome::failed;
  }
  begin_ = next_;
  std::size_t looked_at = begin_;
  for (;;) {
    const void* const found =
        looked_at == filled_ ? nullptr : std::memchr(buffer_.data() + looked_at, '\n', filled_ - looked_at);
    if (found != nullptr) {
      const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      if (end - begin_ > line_limit_) return fail_too_long();
      next_ = end + 1;
      text = std::string_view{buffer_.data() + begin_, end - begin_};
      if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
      break;
    }
    looked_at = filled_;
    if (filled_ - begin_ > line_limit_) return fail_too_long();
    if (at_end_) {
      next_ = filled_;
      if (begin_ == filled_) return line_outcome::end;
      text = std::string_view{buffer_.data() + begin_, filled_ - begin_};
      is_cut_off_ = true;
      break;
    }
    if (!refill(looked_at)) return line_outcome::failed;
  }
  if (text.find('\0') != std::string_view::npos) {
    return fail("a zero byte: expected a text in UTF-8, not a binary file");
  }
  ++line_;
  if (line_ == 1 && text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
    mark_ = 3;
  } else {
    mark_ = 0;
  }
  return line_outcome::line;
}

bool swf_reader::refill(std::size_t& looked_at) {
  if (filled_ == buffer_.size()) {
    const std::size_t kept = filled_ - begin_;
    if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    looked_at -= begin_;
    filled_ = kept;
    begin_ = 0;
    if (kept >= buffer_.size() / 2) buffer_.resize(buffer_.empty() ? first_buffer : 2 * buffer_.size());
  }
  const std::ptrdiff_t got = source_(buffer_.data() + filled_, buffer_.size() - filled_);
  if (got < 0) {
    fail("the text can't be read any further");
    return false;
  }
  at_end_ = got == 0;
  filled_ += static_cast<std::size_t>(got);
  return true;
}

swf_reader::line_outcome swf_reader::fail_too_long() {
  return fail("the line is longer than " + std::to_string(line_limit_) + " bytes");
}

swf_reader::line_outcome swf_reader::fail(std::string text) {
  failed_ = true;
  failure_ = {{line_ + 1, 1}, {}, std::move(text)};
  problems_.push_back(failure_);
  return line_outcome::failed;
}

void swf_reader::read_header(std::string_view comment) {
  const std::size_t colon = comment.find(':');
  if (colon == std::string_view::npos || header_.size() >= most_header_lines) return;
  const auto trimmed = [](std::string_view t) {
    const std::size_t first = t.find_first_not_of(" \t;");
    if (first == std::string_view::npos) return std::string{};
    return std::string{t.substr(first, t.find_last_not_of(" \t") - first + 1)};
  };
  header_.push_back({trimmed(comment.substr(0, colon)), trimmed(comment.substr(colon + 1))});
}

void swf_reader::read_job(std::string_view text) {
  job_ = {};
  is_job_ = true;
  std::size_t fields = 0;
  std::size_t at = 0;
  std::size_t last = 0;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    if (fields < swf_field_names.size()) read_field(fields, text.substr(at, end - at), at);
    ++fields;
    last = at;
    at = end;
  }
  if (fields == swf_field_names.size()) return;
  is_job_ = false;
  problems_.assign(1, {{line_, last + mark_ + 1}, {}, "expected 18 fields, found " + std::to_string(fields)});
}

void swf_reader::read_field(std::size_t field, std::string_view text, std::size_t at) {
  const auto report = [&](std::string wrong) {
    is_job_ = is_job_ && !is_needed_[field];
    problems_.push_back({{line_, at + mark_ + 1},
                         std::string{swf_field_names[field]},
                         std::move(wrong) + ", found " + shown(text)});
  };
  const auto which = static_cast<swf_field>(field);
  const bool may_have_decimals = which == swf_field::submit_time || which == swf_field::wait_time ||
                                 which == swf_field::run_time || which == swf_field::average_cpu_time ||
                                 which == swf_field::requested_time || which == swf_field::think_time;
  std::string_view used = text;
  const std::size_t point = text.find('.');
  if (may_have_decimals && point != std::string_view::npos && text.size() > point + 4 &&
      text.find_first_not_of("0123456789", point + 1) == std::string_view::npos) {
    used = text.substr(0, point + 4);
  }
  const parsed_milli n = parse_milli(used);
  if (n.problem == decimal_problem::malformed) return report("expected a number");
  if (n.problem == decimal_problem::too_fine || (!may_have_decimals && n.value % 1000 != 0)) {
    return report("expected a whole number");
  }
  if (n.problem == decimal_problem::too_large ? text.front() != '-' : n.value > most_units * 1000) {
    return report("expected at most " + std::to_string(most_units));
  }
  if (n.problem == decimal_problem::none && n.value == -1000) return;
  if (n.problem != decimal_problem::none || n.value < 0) {
    return report("expected a number that is not negative, or -1 for unknown");
  }
  job_.milli[field] = n.value;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
