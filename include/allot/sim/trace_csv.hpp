// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/sim/csv.hpp>
#include <allot/sim/decimal.hpp>
#include <allot/sim/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// The columns that a canonical trace may have, in the order in which they are written; the first four are
/// required. `tag` stands for every other column.
enum class trace_column : std::uint8_t {
  job_id,
  submit_s,
  duration_s,
  gpus,
  tenant,
  pods,
  min_pods,
  priority,
  job_class,
  preemptible,
  gpu_model,
  cpu_milli,
  memory_mib,
  user,
  checkpoint_s,
  restart_s,
  deadline_s,
  tag,
};

/// What the columns are called in the header row, in the order of `trace_column`.
inline constexpr std::array<std::string_view, 17> trace_column_names = {
    "job_id",     "submit_s", "duration_s",   "gpus",        "tenant",    "pods",
    "min_pods",   "priority", "class",        "preemptible", "gpu_model", "cpu_milli",
    "memory_mib", "user",     "checkpoint_s", "restart_s",   "deadline_s"};

struct trace_csv_limits {
  /// The longest record, in bytes.
  std::size_t record = std::size_t{1} << 20U;
  /// Reading stops after so many problems.
  std::size_t problems = 20;
};

/// A trace, or what is wrong with its file.
struct [[nodiscard]] trace_reading {
  /// Empty when there are problems.
  trace value;
  /// In the order of the file.
  std::vector<text_problem> problems;
  /// Whether the end of the file was not reached, so that there may be more problems.
  bool stopped = false;

  [[nodiscard]] explicit operator bool() const noexcept { return problems.empty(); }
};

namespace detail {

/// The start of a field as a message can show it.
[[nodiscard]] inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, most)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (text.size() > most ? "...\"" : "\"");
}

template <byte_source Source>
class trace_csv_parser {
 public:
  trace_csv_parser(Source source, const trace_csv_limits& limits)
      : csv_(std::move(source), limits.record), most_problems_(limits.problems) {}

  [[nodiscard]] trace_reading run() && {
    if (read_header()) {
      while (advance()) read_job();
    }
    if (!out_.problems.empty()) out_.value = {};
    return std::move(out_);
  }

 private:
  using outcome = typename csv_reader<Source>::outcome;

  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  /// Far beyond any cluster or calendar, and small enough that sums and products with time can't overflow.
  static constexpr std::int64_t most_units = 1'000'000'000'000;

  /// Goes to the next record, unless there is none or it is time to stop.
  bool advance() {
    if (out_.problems.size() >= most_problems_) {
      out_.stopped = true;
      return false;
    }
    const outcome o = csv_.next();
    if (o == outcome::failed) {
      out_.problems.push_back(csv_.problem());
      out_.stopped = true;
    }
    return o == outcome::record;
  }

  void report(text_place place, std::string_view field, std::string text) {
    if (out_.problems.size() < most_problems_) {
      out_.problems.push_back({place, std::string{field}, std::move(text)});
    }
  }

  bool read_header() {
    if (!advance()) {
      if (!out_.problems.empty()) return false;
      report({}, {}, "the text is empty: expected a header row with job_id,submit_s,duration_s,gpus");
      return false;
    }
    at_.fill(absent);
    name_table seen;
    for (std::size_t i = 0; i < csv_.size(); ++i) {
      const std::string_view name = csv_.text(i);
      if (!seen.intern(name).added) report(csv_.place(i), name, "this column is there twice");
      std::size_t column = 0;
      while (column < trace_column_names.size() && trace_column_names[column] != name) ++column;
      if (column < trace_column_names.size()) {
        at_[column] = i;
      } else {
        tag_fields_.push_back(i);
        out_.value.tag_columns.emplace_back(name);
      }
    }
    columns_ = csv_.size();
    constexpr auto last_required = static_cast<std::size_t>(trace_column::gpus);
    for (std::size_t column = 0; column <= last_required; ++column) {
      if (at_[column] != absent) continue;
      report(csv_.place(), trace_column_names[column],
             "this column is required, and the header row lacks it");
    }
    out_.stopped = !out_.problems.empty();
    return !out_.stopped;
  }

  void read_job() {
    if (csv_.size() != columns_) {
      const bool surplus = csv_.size() > columns_;
      report(surplus ? csv_.place(columns_) : csv_.place(csv_.size() - 1), {},
             "expected " + std::to_string(columns_) + " fields, as in the header row, found " +
                 std::to_string(csv_.size()));
      return;
    }
    trace_job job;
    job.id = read_id();
    job.submit = milli(trace_column::submit_s, "a number of seconds").value_or(0);
    job.duration = milli(trace_column::duration_s, "a number of seconds").value_or(0);
    job.gpus = quantity::milli(milli(trace_column::gpus, "a number of GPUs").value_or(0));
    job.tenant = name(trace_column::tenant, out_.value.tenants);
    job.job_class = name(trace_column::job_class, out_.value.words);
    job.gpu_model = name(trace_column::gpu_model, out_.value.words);
    job.user = name(trace_column::user, out_.value.words);
    read_pods(job);
    job.priority =
        static_cast<std::int32_t>(whole(trace_column::priority, std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::int32_t>::max())
                                      .value_or(0));
    job.preemptible = read_flag(trace_column::preemptible, true);
    job.cpu_milli = whole(trace_column::cpu_milli, 0, most_units).value_or(0);
    job.memory_mib = whole(trace_column::memory_mib, 0, most_units).value_or(0);
    job.checkpoint = milli(trace_column::checkpoint_s, "a number of seconds");
    job.restart = milli(trace_column::restart_s, "a number of seconds").value_or(0);
    job.deadline = milli(trace_column::deadline_s, "a number of seconds");
    if (job.deadline && *job.deadline < job.submit) {
      report_at(trace_column::deadline_s, "expected a point in time, as submit_s is one, and not before it");
    }
    if (!out_.problems.empty()) return;
    std::vector<trace_job>& jobs = out_.value.jobs;
    // Copying into ever new memory is what reading costs most, and memory that is never touched costs
    // nothing.
    if (jobs.size() == jobs.capacity()) jobs.reserve(std::max<std::size_t>(1024, 4 * jobs.size()));
    jobs.push_back(job);
    for (const std::size_t i : tag_fields_) {
      const std::string_view text = csv_.text(i);
      out_.value.tags.push_back(text.empty() ? name_id::none() : out_.value.words.intern(text).name);
    }
  }

  [[nodiscard]] name_id read_id() {
    const std::string_view text = field(trace_column::job_id);
    if (text.empty()) report_at(trace_column::job_id, "expected the id of a job, found nothing");
    const auto [id, added] = out_.value.ids.intern(text);
    if (added) {
      id_lines_.push_back(csv_.place().line);
    } else if (!text.empty()) {
      report_at(trace_column::job_id, "the job id " + shown(text) + " was given before, on line " +
                                          std::to_string(id_lines_[id.index()]));
    }
    return id;
  }

  void read_pods(trace_job& job) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const auto pods = whole(trace_column::pods, 1, most);
    const auto min_pods = whole(trace_column::min_pods, 1, most);
    if (pods && job.gpus.in_milli() % *pods != 0) {
      report_at(trace_column::pods, "the GPUs of the job can't be split evenly over " +
                                        std::to_string(*pods) + " pods (to a thousandth)");
    }
    if (min_pods && !pods && field(trace_column::pods).empty()) {
      report_at(trace_column::min_pods, "min_pods means nothing without pods");
    } else if (min_pods && pods && *min_pods > *pods) {
      report_at(trace_column::min_pods, "expected at most the " + std::to_string(*pods) + " of pods, found " +
                                            shown(field(trace_column::min_pods)));
    }
    job.pods = static_cast<std::uint32_t>(pods.value_or(0));
    job.min_pods = static_cast<std::uint32_t>(min_pods.value_or(0));
  }

  [[nodiscard]] bool read_flag(trace_column column, bool otherwise) {
    const std::string_view text = field(column);
    if (text.empty()) return otherwise;
    // Python writes True.
    const bool is_true = text == "true" || text == "True" || text == "TRUE";
    if (!is_true && text != "false" && text != "False" && text != "FALSE") {
      report_at(column, "expected true or false, found " + shown(text));
    }
    return is_true;
  }

  [[nodiscard]] std::size_t index(trace_column column) const { return at_[static_cast<std::size_t>(column)]; }
  /// Empty when the file has no such column.
  [[nodiscard]] std::string_view field(trace_column column) const {
    return index(column) == absent ? std::string_view{} : csv_.text(index(column));
  }
  void report_at(trace_column column, std::string text) {
    report(csv_.place(index(column)), trace_column_names[static_cast<std::size_t>(column)], std::move(text));
  }
  [[nodiscard]] name_id name(trace_column column, name_table& names) {
    const std::string_view text = field(column);
    return text.empty() ? name_id::none() : names.intern(text).name;
  }

  /// A number that is not negative, in thousandths; nothing when it is not given or wrong.
  [[nodiscard]] std::optional<std::int64_t> milli(trace_column column, const char* expected) {
    return number(column, expected, 0, most_units);
  }
  [[nodiscard]] std::optional<std::int64_t> whole(trace_column column, std::int64_t least,
                                                  std::int64_t most) {
    auto n = number(column, "a whole number", least, most);
    if (n && *n % 1000 != 0) {
      report_at(column, "expected a whole number, found " + shown(field(column)));
      n.reset();
    }
    if (n) *n /= 1000;
    return n;
  }
  [[nodiscard]] std::optional<std::int64_t> number(trace_column column, const char* expected,
                                                   std::int64_t least, std::int64_t most) {
    if (index(column) == absent) return std::nullopt;
    const std::string_view text = csv_.text(index(column));
    if (text.empty() && column > trace_column::gpus) return std::nullopt;
    const parsed_milli n = parse_milli(text);
    if (n.problem == decimal_problem::none && least * 1000 <= n.value && n.value <= most * 1000) {
      return n.value;
    }
    report_number(column, n, expected, least, most);
    return std::nullopt;
  }
  void report_number(trace_column column, parsed_milli n, const char* expected, std::int64_t least,
                     std::int64_t most) {
    const std::string_view text = field(column);
    std::string wrong = "expected ";
    if (n.problem == decimal_problem::malformed) {
      wrong += expected;
    } else if (n.problem == decimal_problem::too_fine) {
      wrong += std::string{expected} + " with at most three decimals";
    } else if (n.problem == decimal_problem::too_large ? text.front() == '-' : n.value < least * 1000) {
      wrong += "at least " + std::to_string(least);
    } else {
      wrong += "at most " + std::to_string(most);
    }
    report_at(column, wrong + ", found " + (text.empty() ? "nothing" : shown(text)));
  }

  csv_reader<Source> csv_;
  std::size_t most_problems_;
  std::array<std::size_t, trace_column_names.size()> at_{};
  std::vector<std::size_t> tag_fields_;
  std::size_t columns_ = 0;
  std::vector<std::size_t> id_lines_;
  trace_reading out_;
};

}  // namespace detail

/// Reads a trace in canonical CSV from wherever the bytes come. Columns may stand in any order and those that
/// the library does not know become tags; jobs may stand in any order. An empty optional field is as if it
/// were not there.
///
/// Every problem is reported with its line and column, up to a limit: a header row that lacks a required
/// column or has one twice, a record with too many or too few fields, a number that is none, negative, too
/// fine (1 ms and 1/1000 GPU are the finest) or too large, a job id that is empty or given twice, and
/// whatever `csv_reader` refuses, which ends the reading. A file with a header row only is a valid, empty
/// trace. O(bytes); memory for the jobs, and for one record.
template <byte_source Source>
trace_reading read_trace_csv(Source source, const trace_csv_limits& limits = {}) {
  return detail::trace_csv_parser<Source>{std::move(source), limits}.run();
}

/// The same from a stream, which should be binary and is read to its end unless there are problems. A stream
/// that was never open can't be read.
inline trace_reading read_trace_csv(std::istream& stream, const trace_csv_limits& limits = {}) {
  const auto source = [&stream](char* to, std::size_t size) -> std::ptrdiff_t {
    if (stream.eof()) return 0;
    if (!stream.good()) return -1;
    stream.read(to, static_cast<std::streamsize>(size));
    return stream.bad() ? -1 : static_cast<std::ptrdiff_t>(stream.gcount());
  };
  return read_trace_csv(source, limits);
}

/// The same from a text in memory.
inline trace_reading parse_trace_csv(std::string_view text, const trace_csv_limits& limits = {}) {
  return read_trace_csv(string_source{text}, limits);
}

}  // namespace sim
}  // namespace v0
}  // namespace allot
