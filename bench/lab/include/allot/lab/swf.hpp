// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The fields of a line in the Standard Workload Format 2.2, in order.
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

/// Their names in tags and messages.
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

/// Reads a workload in the Standard Workload Format 2.2, one job at a time: 18 numbers on a line, separated
/// by spaces or tabs; -1 for unknown; comments from a `;` to the end of the line, and at the beginning the
/// header, `; Name: value`. Lines may end in CRLF. Times and the CPU time may have up to three decimals
/// (further zeros do not matter, further digits are cut off); everything else is whole.
///
/// The problems of a line are collected for that line alone, so the caller decides whether they end the
/// reading. What can't be read in a field that the caller does not need is as if it were unknown. Memory is
/// bounded by the longest line, which is limited.
class swf_reader {
 public:
  enum class outcome {
    job,
    /// A line that is not a job: see `problems`.
    bad_line,
    end,
    /// The text can't be read, or a line is too long.
    failed,
  };
  struct header_line {
    std::string name;
    std::string value;
  };

  static constexpr std::size_t default_line_limit = std::size_t{1} << 16U;

  /// `unneeded`: the fields in which anything is accepted.
  explicit swf_reader(byte_source source, std::size_t line_limit = default_line_limit,
                      std::span<const swf_field> unneeded = {});

  /// Advances to the next job. After `end` or `failed` it returns the same again. O(bytes up to it).
  outcome next();

  /// Precondition: `next` returned `job`.
  [[nodiscard]] const swf_job& job() const noexcept { return job_; }
  /// The problems of this line, or of the text from here on. Those of a job are in fields that are not
  /// needed.
  [[nodiscard]] const vector<text_problem>& problems() const noexcept { return problems_; }
  /// The number of the line, from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  /// Whether the text ended in the middle of this line, without a line break.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// The `Name: value` comments before the first job, as far as they have been read.
  [[nodiscard]] const vector<header_line>& header() const noexcept { return header_; }
  /// The value of the first header line of that name, or nothing.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;

 private:
  enum class line_outcome { line, end, failed };

  [[nodiscard]] line_outcome next_line(std::string_view& text);
  /// Reads more bytes after those in the buffer; what precedes the line is dropped.
  bool refill(std::size_t& looked_at);
  line_outcome fail_too_long();
  line_outcome fail(std::string text);
  void read_header(std::string_view comment);
  void read_job(std::string_view text);
  void read_field(std::size_t field, std::string_view text, std::size_t at);

  byte_source source_;
  std::size_t line_limit_;
  std::array<bool, swf_field_names.size()> is_needed_{};
  vector<char> buffer_;
  std::size_t begin_ = 0;   // where the line begins in the buffer
  std::size_t next_ = 0;    // where the next one does
  std::size_t filled_ = 0;  // how much of the buffer holds text
  std::size_t line_ = 0;
  std::size_t mark_ = 0;  // the bytes of a byte order mark before the line
  swf_job job_;
  vector<header_line> header_;
  vector<text_problem> problems_;
  text_problem failure_;
  bool is_job_ = false;  // whether the line has all that is needed
  bool has_jobs_ = false;
  bool at_end_ = false;
  bool is_cut_off_ = false;
  bool failed_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
