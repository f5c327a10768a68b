// SPDX-License-Identifier: BSL-1.0
// Tables of any format: --map says which column is what, and in which unit.
#include "lab/import/import_table.hpp"
#include "lab/import/import_times.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/workload/tag_columns.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/trace_csv.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// What a key of --map takes.
enum class mapped_kind : std::uint8_t { text, whole, flag, gpus, cpu, memory, span, point };

enum class mapped_key : std::uint8_t {
  job_id,
  submit,
  duration,
  gpus,
  tenant,
  pods,
  min_pods,
  priority,
  job_class,
  preemptible,
  gpu_model,
  cpu,
  memory,
  user,
  checkpoint,
  restart,
  estimate,
  pod_set,
  ready,
  deadline,
  gpus_per_pod,
  start,
  end,
};

struct mapped_key_name {
  std::string_view name;
  mapped_kind kind;
  /// The column of a trace that it becomes; `tag` for those that only help to find others.
  trace_column column;
};

/// In the order of `mapped_key`.
constexpr std::array<mapped_key_name, 23> mapped_keys = {
    {{"job_id", mapped_kind::text, trace_column::job_id},
     {"submit_s", mapped_kind::point, trace_column::submit_s},
     {"duration_s", mapped_kind::span, trace_column::duration_s},
     {"gpus", mapped_kind::gpus, trace_column::gpus},
     {"tenant", mapped_kind::text, trace_column::tenant},
     {"pods", mapped_kind::whole, trace_column::pods},
     {"min_pods", mapped_kind::whole, trace_column::min_pods},
     {"priority", mapped_kind::whole, trace_column::priority},
     {"class", mapped_kind::text, trace_column::job_class},
     {"preemptible", mapped_kind::flag, trace_column::preemptible},
     {"gpu_model", mapped_kind::text, trace_column::gpu_model},
     {"cpu_milli", mapped_kind::cpu, trace_column::cpu_milli},
     {"memory_mib", mapped_kind::memory, trace_column::memory_mib},
     {"user", mapped_kind::text, trace_column::user},
     {"checkpoint_s", mapped_kind::span, trace_column::checkpoint_s},
     {"restart_s", mapped_kind::span, trace_column::restart_s},
     {"estimate_s", mapped_kind::span, trace_column::estimate_s},
     {"pod_set", mapped_kind::text, trace_column::pod_set},
     {"ready_s", mapped_kind::point, trace_column::ready_s},
     {"deadline_s", mapped_kind::point, trace_column::deadline_s},
     {"gpus_per_pod", mapped_kind::gpus, trace_column::tag},
     {"start_s", mapped_kind::point, trace_column::tag},
     {"end_s", mapped_kind::point, trace_column::tag}}};

enum class time_form : std::uint8_t { number, automatic, date, since_1970, clock, format };

/// Where a key's values are, and how they are written.
struct mapping {
  std::size_t column = 0;
  column_unit unit{};
  time_form form = time_form::number;
  std::string format{};
};

struct named_unit {
  std::string_view name;
  column_unit unit;
};
constexpr std::array<named_unit, 3> gpu_units = {
    {{"gpus", {1000, 1}}, {"percent", {10, 1}}, {"milli", {1, 1}}}};
constexpr std::array<named_unit, 2> cpu_units = {{{"milli", {1000, 1}}, {"cores", {1'000'000, 1}}}};
constexpr std::array<named_unit, 8> memory_units = {{{"mib", {1000, 1}},
                                                     {"gib", {1'024'000, 1}},
                                                     {"kib", {1000, 1024}},
                                                     {"bytes", {1000, 1'048'576}},
                                                     {"mb", {1'000'000'000, 1'048'576}},
                                                     {"gb", {1'000'000'000'000, 1'048'576}},
                                                     {"kb", {1'000'000, 1'048'576}},
                                                     {"tib", {1'048'576'000, 1}}}};

template <std::size_t N>
bool choose_unit(const std::array<named_unit, N>& units, std::string_view text, mapping& to,
                 std::string& expected) {
  for (const named_unit& u : units) {
    if (u.name == text) to.unit = u.unit;
    if (u.name == text) return true;
    expected.append(expected.empty() ? "" : ", ").append(u.name);
  }
  return false;
}

/// Reads the unit of a key's column. On an error, `expected` says what could be there.
bool read_unit(mapped_kind kind, std::string_view text, mapping& to, std::string& expected) {
  switch (kind) {
    case mapped_kind::gpus:
      return choose_unit(gpu_units, text, to, expected);
    case mapped_kind::cpu:
      return choose_unit(cpu_units, text, to, expected);
    case mapped_kind::memory:
      return choose_unit(memory_units, text, to, expected);
    case mapped_kind::span:
    case mapped_kind::point:
      break;
    default:
      expected = "no unit";
      return false;
  }
  const bool is_point = kind == mapped_kind::point;
  to.form = time_form::number;
  if (const auto unit = unit_of_time(text)) {
    to.unit = *unit;
    return true;
  }
  if (!is_point && text == "clock") {
    to.form = time_form::clock;
    return true;
  }
  if (is_point && text == "date") {
    to.form = time_form::date;
    return true;
  }
  if (is_point && text.substr(0, 4) == "unix") {
    const auto unit = text.size() == 4 ? std::optional{column_unit{}}
                      : text[4] == '_' ? unit_of_time(text.substr(5))
                                       : std::nullopt;
    if (unit) to.unit = *unit;
    to.form = time_form::since_1970;
    if (unit) return true;
  }
  if (is_point && is_time_format(text)) {
    to.form = time_form::format;
    to.format = text;
    return true;
  }
  expected = is_point
                 ? R"(a unit as s, ms, m, h or d; date; unix or unix_ms; or a format as "%d.%m.%Y %H:%M")"
                 : "a unit as s, ms, m, h or d; or clock, as in 1-02:30:00";
  return false;
}

/// What tables have where there is no value.
[[nodiscard]] bool is_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 9> words = {"",     "nan",  "NaN",  "NA", "N/A",
                                                     "None", "NULL", "null", "-"};
  return std::find(words.begin(), words.end(), text) != words.end();
}

enum class no_column : std::uint8_t {};

class mapped_import {
 public:
  mapped_import(packed_input& file, import_log& log, const import_options& options, csv_dialect dialect)
      : file_(file),
        log_(log),
        options_(options),
        rows_(packed_source{&file}, {}, csv_reader::default_record_limit, dialect) {}

  int run() {
    if (!(options_.columns.empty() ? rows_.open() : rows_.open(options_.columns))) {
      report_failure(rows_.problems(), file_, log_);
      return bad_input_status;
    }
    if (!choose()) return bad_input_status;
    vector<trace_column> written;
    for (std::size_t k = static_cast<std::size_t>(mapped_key::tenant); k < mapped_keys.size(); ++k) {
      if (maps_[k] && mapped_keys[k].column != trace_column::tag) written.push_back(mapped_keys[k].column);
    }
    vector<std::string> others;
    vector<std::size_t> tags_at;
    for (std::size_t i = 0; i < rows_.others(); ++i) {
      const auto is_here = [&](const auto& m) { return m && m->column == i; };
      if (std::any_of(maps_.begin(), maps_.end(), is_here)) continue;
      tags_at.push_back(i);
      others.emplace_back(rows_.other_name(i));
    }
    trace_spool spool{std::move(written), tag_names(others, "csv", log_)};
    vector<std::string_view> tags(tags_at.size());
    std::size_t without_gpus = 0;
    named_count early;
    const auto read_row = [&](std::size_t number) -> std::span<const text_problem> {
      problems_.clear();
      imported_job job;
      starts_early_ = false;
      const std::string own_id = at(mapped_key::job_id) ? std::string{} : std::to_string(number);
      job.id = own_id;
      read(job);
      if (!problems_.empty()) return problems_;
      if (options_.gpu_only && job.gpus == 0) {
        ++without_gpus;
        return {};
      }
      for (std::size_t i = 0; i < tags.size(); ++i) tags[i] = rows_.other(tags_at[i]);
      if (auto problem = spool.add(job, tags, rows_.place().line); !problem.empty()) {
        const text_problem where{rows_.place(), {}, std::move(problem)};
        log_.reject({&where, 1});
      } else if (starts_early_) {
        early.add(job.id);
      }
      return {};
    };
    if (!for_each_row(rows_, file_, log_, read_row)) return bad_input_status;
    if (!early.empty())
      log_.note({}, early.text("job", "jobs") + " started before submission: only the run time is used");
    log_.leave_out(without_gpus, "job without GPUs is", "jobs without GPUs are");
    std::optional<instant> origin = 0;
    if (has_dates()) origin = origin_of(spool, log_, options_);
    if (!origin) return bad_input_status;
    return finish_import(spool, *origin, log_, options_);
  }

 private:
  using table = csv_table<no_column>;

  [[nodiscard]] const std::optional<mapping>& at(mapped_key key) const {
    return maps_[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] static const mapped_key_name& name_of(mapped_key key) {
    return mapped_keys[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] bool has_dates() const {
    const auto form = at(mapped_key::submit)->form;
    return form == time_form::date || form == time_form::since_1970 || form == time_form::format;
  }

  void wrong(const std::string& text) {
    complain(text, "allot import");
    ok_ = false;
  }

  /// Decides which column is what: by --map, and else by name.
  bool choose() {
    for (const std::string& text : options_.map) choose_one(text);
    for (std::size_t k = 0; k < mapped_keys.size(); ++k) {
      if (maps_[k] || is_left_out_[k]) continue;
      if (const auto column = rows_.find(mapped_keys[k].name))
        maps_[k] = mapping_of(mapped_keys[k].kind, *column);
    }
    if (options_.tenant) choose_tenant(*options_.tenant);
    if (!ok_) return false;
    find_missing();
    if (!ok_) return false;
    if (!at(mapped_key::job_id)) log_.note({}, "no column has the ids of jobs: they are numbered from 0");
    std::string used;
    for (std::size_t k = 0; k < mapped_keys.size(); ++k) {
      if (!maps_[k]) continue;
      used.append(used.empty() ? "" : ", ").append(mapped_keys[k].name).append(" from ");
      used += rows_.other_name(maps_[k]->column);
    }
    log_.note({}, used);
    for (std::size_t i = 0; i < rows_.others(); ++i) doubt(i);
    return true;
  }

  [[nodiscard]] static mapping mapping_of(mapped_kind kind, std::size_t column) {
    mapping m{.column = column};
    if (kind == mapped_kind::point) m.form = time_form::automatic;
    if (kind == mapped_kind::cpu || kind == mapped_kind::memory) m.unit = {1000, 1};
    return m;
  }

  void choose_one(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong("--map: expected KEY=COLUMN or KEY=COLUMN:UNIT, or KEY= for no column, found \"" + text +
                   '"');
    }
    const std::string key = text.substr(0, equals);
    const auto* const known = std::find_if(mapped_keys.begin(), mapped_keys.end(),
                                           [&](const mapped_key_name& n) { return n.name == key; });
    if (known == mapped_keys.end()) {
      vector<std::string_view> names;
      for (const mapped_key_name& n : mapped_keys) names.push_back(n.name);
      return wrong("--map: a trace has no \"" + key + '"' + meant_or_expected(key, names));
    }
    const auto number = static_cast<std::size_t>(known - mapped_keys.begin());
    std::optional<mapping>& to = maps_[number];
    if (to || is_left_out_[number]) return wrong("--map: " + key + " is there twice");
    is_left_out_[number] = equals + 1 == text.size();
    if (is_left_out_[number]) return;
    // The name of a column may have a colon in it.
    const std::string column = text.substr(equals + 1);
    if (const auto found = rows_.find(column)) {
      to = mapping_of(known->kind, *found);
      return;
    }
    for (std::size_t colon = column.find(':'); colon != std::string::npos;
         colon = column.find(':', colon + 1)) {
      const auto found = rows_.find(column.substr(0, colon));
      if (!found) continue;
      to = mapping_of(known->kind, *found);
      std::string expected;
      const std::string unit = column.substr(colon + 1);
      if (!read_unit(known->kind, unit, *to, expected)) {
        wrong("--map: " + key + ": expected " + expected + "; found \"" + unit + '"');
      }
      return;
    }
    no_column_named(key, column.substr(0, column.find(':')));
  }

  void no_column_named(const std::string& key, const std::string& column) {
    wrong("--map: " + key + ": the file has no column \"" + column + '"' +
          meant_or_expected(column, columns()));
  }

  void choose_tenant(const std::string& column) {
    std::optional<mapping>& to = maps_[static_cast<std::size_t>(mapped_key::tenant)];
    to.reset();
    if (column.empty()) return;
    const auto found = rows_.find(column);
    if (!found) return wrong("--tenant: the file has no column \"" + column + '"');
    to = mapping_of(mapped_kind::text, *found);
  }

  [[nodiscard]] vector<std::string_view> columns() const {
    vector<std::string_view> names;
    for (std::size_t i = 0; i < rows_.others(); ++i) names.push_back(rows_.other_name(i));
    return names;
  }

  void find_missing() {
    const auto missing = [&](std::string_view what) {
      wrong("nothing says " + std::string{what} + "; the columns of the file are " + listed_and(columns()));
    };
    if (!at(mapped_key::submit)) missing("when jobs are submitted: expected --map submit_s=COLUMN");
    if (!at(mapped_key::duration) && !(at(mapped_key::start) && at(mapped_key::end))) {
      missing("how long jobs run: expected --map duration_s=COLUMN, or start_s=COLUMN,end_s=COLUMN");
    }
    if (at(mapped_key::gpus) && at(mapped_key::gpus_per_pod)) {
      wrong("--map: there are gpus and gpus_per_pod: expected one of the two");
    } else if (!at(mapped_key::gpus) && !at(mapped_key::gpus_per_pod)) {
      missing("how many GPUs jobs ask for: expected --map gpus=COLUMN, or gpus_per_pod=COLUMN");
    }
    if (at(mapped_key::min_pods) && !at(mapped_key::pods))
      wrong("--map: min_pods means nothing without pods");
    if (at(mapped_key::pod_set) && !at(mapped_key::job_id))
      wrong("--map: pod_set means nothing without job_id");
    if (at(mapped_key::pod_set) && options_.gpu_only)
      wrong("--gpu-only: the other pod sets of a job may have GPUs (expected no pod_set)");
  }

  [[nodiscard]] static std::string listed_and(const vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
  }

  /// A remaining column may have been meant for a key that was not mapped.
  void doubt(std::size_t i) {
    const auto is_here = [&](const auto& m) { return m && m->column == i; };
    if (std::any_of(maps_.begin(), maps_.end(), is_here)) return;
    const std::string_view meant = trace_column_meant_by(rows_.other_name(i));
    for (std::size_t k = 0; k < mapped_keys.size(); ++k) {
      if (mapped_keys[k].name != meant || maps_[k] || is_left_out_[k]) continue;
      std::string text{"it is kept as a tag (is it a "};
      text.append(meant).append("? --map ").append(meant).append("=").append(rows_.other_name(i)).append(")");
      log_.note("column " + std::string{rows_.other_name(i)}, text);
    }
  }

  // The fields of a row.

  void report(mapped_key key, std::string_view expected) {
    const std::size_t column = at(key)->column;
    const std::string_view found = rows_.other(column);
    problems_.push_back({rows_.field_place(column), std::string{rows_.other_name(column)},
                         std::string{"expected "}.append(expected) + ", found " +
                             (found.empty() ? "nothing" : shown(found))});
  }
  /// The text of a key; empty if it is not mapped or has no value.
  [[nodiscard]] std::string_view text(mapped_key key) const {
    if (!at(key)) return {};
    const std::string_view found = rows_.other(at(key)->column);
    return is_nothing(found) ? std::string_view{} : found;
  }

  [[nodiscard]] std::int64_t amount(mapped_key key, std::string_view expected) {
    const std::string_view found = text(key);
    if (found.empty()) return 0;
    const auto n = parse_in_unit(found, at(key)->unit);
    if (!n) report(key, expected);
    return n.value_or(0);
  }
  [[nodiscard]] std::int64_t gpus(mapped_key key) {
    if (text(key).empty()) report(key, "a number of GPUs");
    return amount(key, "a number of GPUs");
  }
  /// The nearest whole number above.
  [[nodiscard]] std::int64_t whole_amount(mapped_key key, std::string_view expected) {
    return (amount(key, expected) + 999) / 1000;
  }
  [[nodiscard]] std::int64_t whole(mapped_key key, std::int64_t least, std::int64_t most) {
    std::string_view found = text(key);
    if (found.empty()) return 0;
    const bool is_negative = found.front() == '-';
    if (is_negative) found.remove_prefix(1);
    const auto n = parse_in_unit(found, {});
    const std::int64_t value = n ? (is_negative ? -*n : *n) / 1000 : 0;
    if (n && *n % 1000 == 0 && least <= value && value <= most) return value;
    report(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return 0;
  }
  /// Nothing if the field is empty.
  [[nodiscard]] std::optional<instant> span(mapped_key key) {
    const std::string_view found = text(key);
    if (found.empty()) return std::nullopt;
    const bool is_clock = at(key)->form == time_form::clock;
    const auto t = is_clock ? parse_clock_span(found) : parse_in_unit(found, at(key)->unit);
    if (!t) report(key, is_clock ? "a time as 1-02:30:00 or 02:30:00" : "a number that is not negative");
    return t;
  }
  [[nodiscard]] std::optional<instant> point(mapped_key key) {
    const std::string_view found = text(key);
    mapping& m = *maps_[static_cast<std::size_t>(key)];
    if (found.empty()) return std::nullopt;
    // The first value decides.
    if (m.form == time_form::automatic) {
      m.form = parse_timestamp(found) ? time_form::date : time_form::number;
    }
    switch (m.form) {
      case time_form::date: {
        const auto t = parse_timestamp(found);
        if (!t) report(key, "a date and time, as in 2017-10-09 07:01:55");
        return t;
      }
      case time_form::format: {
        const auto t = parse_by_format(found, m.format);
        if (!t) report(key, "a date and time as " + m.format);
        return t;
      }
      default: {
        const auto t = parse_in_unit(found, m.unit);
        if (!t) report(key, "a number that is not negative");
        return t;
      }
    }
  }
  [[nodiscard]] bool flag(mapped_key key) {
    const std::string_view found = text(key);
    constexpr std::array<std::string_view, 5> yes = {"true", "True", "TRUE", "1", "yes"};
    constexpr std::array<std::string_view, 5> no = {"false", "False", "FALSE", "0", "no"};
    const bool is_no = std::find(no.begin(), no.end(), found) != no.end();
    if (!found.empty() && !is_no && std::find(yes.begin(), yes.end(), found) == yes.end()) {
      report(key, "true or false");
    }
    return !is_no;
  }

  void read(imported_job& job) {
    constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
    if (at(mapped_key::job_id)) {
      job.id = text(mapped_key::job_id);
      if (job.id.empty()) report(mapped_key::job_id, "the id of a job");
    }
    const auto submit = point(mapped_key::submit);
    if (!submit && problems_.empty()) report(mapped_key::submit, "when the job was submitted");
    job.submit = submit.value_or(0);
    // 0 is what tables have where there is none.
    const auto later = [&](mapped_key key) {
      const auto t = at(key) ? point(key) : std::nullopt;
      return t == instant{0} ? std::nullopt : t;
    };
    job.ready = later(mapped_key::ready);
    if (job.ready && *job.ready <= job.submit) job.ready.reset();
    job.deadline = later(mapped_key::deadline);
    if (job.deadline && *job.deadline < job.submit) {
      report(mapped_key::deadline, "a time that is not before the submission");
    }
    read_duration(job);
    job.pods = whole(mapped_key::pods, 1, largest);
    job.min_pods = whole(mapped_key::min_pods, 1, largest);
    if (job.min_pods > job.pods) report(mapped_key::min_pods, "at most the pods");
    read_gpus(job);
    job.pod_set = text(mapped_key::pod_set);
    job.tenant = text(mapped_key::tenant);
    job.job_class = text(mapped_key::job_class);
    job.gpu_model = text(mapped_key::gpu_model);
    job.user = text(mapped_key::user);
    job.priority = whole(mapped_key::priority, -highest_job_priority, highest_job_priority);
    job.preemptible = flag(mapped_key::preemptible);
    job.cpu_milli = whole_amount(mapped_key::cpu, "a number that is not negative");
    job.memory_mib = whole_amount(mapped_key::memory, "a number that is not negative");
    job.checkpoint = span(mapped_key::checkpoint);
    job.restart = span(mapped_key::restart).value_or(0);
    job.estimate = (span(mapped_key::estimate).value_or(0) + second - 1) / second;
  }

  void read_duration(imported_job& job) {
    if (at(mapped_key::duration)) {
      const std::size_t before = problems_.size();
      const auto duration = span(mapped_key::duration);
      if (!duration && problems_.size() == before) report(mapped_key::duration, "how long the job ran");
      job.duration = duration.value_or(0);
      return;
    }
    const std::size_t before = problems_.size();
    const auto start = point(mapped_key::start);
    const auto end = point(mapped_key::end);
    if (problems_.size() != before) return;
    if (!start || !end) return report(start ? mapped_key::end : mapped_key::start, "when the job ran");
    if (*end < *start) return report(mapped_key::end, "a time that is not before the start");
    // Systems write 1970 where they know no time.
    if (has_dates() && !is_known_time(*start))
      return report(mapped_key::start, "a start that is not in 1970");
    job.duration = *end - *start;
    starts_early_ = *start < job.submit;
  }

  void read_gpus(imported_job& job) {
    if (at(mapped_key::gpus_per_pod)) {
      job.gpus = gpus(mapped_key::gpus_per_pod);
      return;
    }
    const std::int64_t all = gpus(mapped_key::gpus);
    const std::int64_t pods = std::max<std::int64_t>(1, job.pods);
    if (all % pods != 0) report(mapped_key::gpus, "GPUs that can be split evenly over the pods");
    job.gpus = all / pods;
  }

  packed_input& file_;
  import_log& log_;
  const import_options& options_;
  table rows_;
  std::array<std::optional<mapping>, mapped_keys.size()> maps_{};
  /// Keys that no column is to be, whatever its name.
  std::array<bool, mapped_keys.size()> is_left_out_{};
  vector<text_problem> problems_;
  bool starts_early_ = false;
  bool ok_ = true;
};

}  // namespace

int import_csv(packed_input& file, import_log& log, const import_options& options) {
  const auto separator = separator_of(options.separator);
  if (!separator) {
    return complain("--separator: expected one character, or tab, found \"" + options.separator + '"',
                    "allot import");
  }
  return mapped_import{file, log, options, {*separator, true}}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
