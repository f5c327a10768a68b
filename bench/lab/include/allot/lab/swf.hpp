// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// The fields of a line in the Standard Workload Format 2.2, in its order.
enum class swf_field : std::uint8_t {
  job_number,
  submit_time,
  wait_time,
  run_time,
  allocated_processors,
  average_cpu_time,
  used_memory,
  requested_processors,
  requested_time,
  requested_memory,
  status,
  user,
  group,
  executable,
  queue,
  partition,
  preceding_job,
  think_time,
};

/// What tags and messages call them.
inline constexpr std::array<std::string_view, 18> swf_field_names = {"job_number",
                                                                     "submit_time",
                                                                     "wait_time",
                                                                     "run_time",
                                                                     "allocated_processors",
                                                                     "average_cpu_time",
                                                                     "used_memory",
                                                                     "requested_processors",
                                                                     "requested_time",
                                                                     "requested_memory",
                                                                     "status",
                                                                     "user",
                                                                     "group",
                                                                     "executable",
                                                                     "queue",
                                                                     "partition",
                                                                     "preceding_job",
                                                                     "think_time"};

/// A job of a workload in SWF: nothing where the file says -1, "unknown".
struct swf_job {
  /// In thousandths: times as milliseconds; counts and numbers times 1000.
  std::array<std::optional<std::int64_t>, swf_field_names.size()> milli{};

  /// In milliseconds.
  [[nodiscard]] std::optional<instant> time(swf_field f) const { return milli[static_cast<std::size_t>(f)]; }
  [[nodiscard]] std::optional<std::int64_t> whole(swf_field f) const {
    const auto n = milli[static_cast<std::size_t>(f)];
    return n ? std::optional{*n / 1000} : n;
  }

  friend bool operator==(const swf_job&, const swf_job&) = default;
};

/// Reads a workload in the Standard Workload Format 2.2, one job at a time: 18 numbers on a line, with spaces
/// or tabs between them; -1 where something is not known; comments from a `;` to the end of the line, and at
/// the beginning the header, `; Name: value`. Lines may end in CRLF. Times and the CPU time may have up to
/// three decimals (further zeros do not matter, further digits are cut off); everything else is whole.
///
/// What is wrong with a line is collected for that line alone, so the caller decides whether it ends the
/// reading. Memory is bounded by the longest line, and that by a limit.
template <byte_source Source>
class swf_reader {
 public:
  enum class outcome {
    job,
    /// A line that is no job: `problems` says why.
    bad_line,
    end,
    /// The text can't be read, or a line is too long.
    failed,
  };
  struct header_line {
    std::string name;
    std::string value;
  };

  explicit swf_reader(Source source, std::size_t line_limit = std::size_t{1} << 16U)
      : source_(std::move(source)), line_limit_(line_limit) {}

  /// Goes on to the next job. After `end` or `failed` it says the same again.
  outcome next() {
    problems_.clear();
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
      if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
      has_jobs_ = true;
      read_job(text);
      return problems_.empty() ? outcome::job : outcome::bad_line;
    }
  }

  /// Precondition: `next` said `job`.
  [[nodiscard]] const swf_job& job() const noexcept { return job_; }
  /// What is wrong with this line, or with the text from here on.
  [[nodiscard]] const std::vector<text_problem>& problems() const noexcept { return problems_; }
  /// The number of the line, from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  /// Whether the text ended in the middle of this line, without a line break.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// The comments before the first job that are `Name: value`, as far as they have been read.
  [[nodiscard]] const std::vector<header_line>& header() const noexcept { return header_; }
  /// The value of the first header line of that name, or nothing.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const {
    for (const header_line& h : header_) {
      if (h.name == name) return h.value;
    }
    return std::nullopt;
  }

 private:
  enum class line_outcome { line, end, failed };

  [[nodiscard]] line_outcome next_line(std::string_view& text) {
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
    ++line_;
    if (line_ == 1 && text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
      mark_ = 3;
    } else {
      mark_ = 0;
    }
    return line_outcome::line;
  }

  /// Gets more bytes behind those that are there; what is before the line goes.
  bool refill(std::size_t& looked_at) {
    if (filled_ == buffer_.size()) {
      const std::size_t kept = filled_ - begin_;
      if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
      looked_at -= begin_;
      filled_ = kept;
      begin_ = 0;
      if (kept >= buffer_.size() / 2) buffer_.resize(buffer_.empty() ? chunk : 2 * buffer_.size());
    }
    const auto got = static_cast<std::ptrdiff_t>(source_(buffer_.data() + filled_, buffer_.size() - filled_));
    if (got < 0) {
      fail("the text can't be read any further");
      return false;
    }
    at_end_ = got == 0;
    filled_ += static_cast<std::size_t>(got);
    return true;
  }

  line_outcome fail_too_long() {
    return fail("the line is longer than " + std::to_string(line_limit_) + " bytes");
  }
  line_outcome fail(std::string text) {
    failed_ = true;
    failure_ = {{line_ + 1, 1}, {}, std::move(text)};
    problems_.push_back(failure_);
    return line_outcome::failed;
  }

  void read_header(std::string_view comment) {
    const std::size_t colon = comment.find(':');
    if (colon == std::string_view::npos || header_.size() >= most_header_lines) return;
    const auto trimmed = [](std::string_view t) {
      const std::size_t first = t.find_first_not_of(" \t;");
      if (first == std::string_view::npos) return std::string{};
      return std::string{t.substr(first, t.find_last_not_of(" \t") - first + 1)};
    };
    header_.push_back({trimmed(comment.substr(0, colon)), trimmed(comment.substr(colon + 1))});
  }

  void read_job(std::string_view text) {
    job_ = {};
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
    problems_.assign(1,
                     {{line_, last + mark_ + 1}, {}, "expected 18 fields, found " + std::to_string(fields)});
  }

  void read_field(std::size_t field, std::string_view text, std::size_t at) {
    const auto report = [&](std::string wrong) {
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

  static constexpr std::size_t chunk = std::size_t{1} << 16U;
  static constexpr std::size_t most_header_lines = 1000;
  /// Far beyond any machine or calendar, and small enough that thousandths of sums can't overflow.
  static constexpr std::int64_t most_units = 1'000'000'000'000;

  Source source_;
  std::size_t line_limit_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;   // where the line begins in the buffer
  std::size_t next_ = 0;    // where the next one does
  std::size_t filled_ = 0;  // how much of the buffer holds text
  std::size_t line_ = 0;
  std::size_t mark_ = 0;  // the bytes of a byte order mark before the line
  swf_job job_;
  std::vector<header_line> header_;
  std::vector<text_problem> problems_;
  text_problem failure_;
  bool has_jobs_ = false;
  bool at_end_ = false;
  bool is_cut_off_ = false;
  bool failed_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
