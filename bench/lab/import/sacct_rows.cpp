// SPDX-License-Identifier: BSL-1.0
#include "lab/import/sacct_rows.hpp"

#include "lab/import/file_kind.hpp"
#include "lab/import/import_fields.hpp"
#include "lab/import/import_times.hpp"
#include "lab/import/import_trace.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view sacct_json_tsv;
}  // namespace embedded

namespace {

[[nodiscard]] bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Columns in which users and administrators write what they like.
constexpr std::array<std::string_view, 14> text_columns = {
    "JobName", "Constraints", "SubmitLine", "Comment", "AdminComment", "SystemComment", "Extra",
    "WorkDir", "StdIn",       "StdOut",     "StdErr",  "Container",    "WCKey",         "Reservation"};

[[nodiscard]] bool is_text_column(std::string_view name) {
  return std::any_of(text_columns.begin(), text_columns.end(),
                     [&](std::string_view t) { return same_word(t, name); });
}

/// Whether a field looks like one of its column: enough to tell where a row with too many fields has its
/// text.
[[nodiscard]] bool looks_like(sacct_column column, std::string_view text) {
  switch (column) {
    case sacct_column::job_id:
      return !text.empty() && text.front() >= '0' && text.front() <= '9';
    case sacct_column::state:
      return text.empty() ||
             (text.front() >= 'A' && text.front() <= 'Z' &&
              text.substr(0, text.find_first_of(" +")).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") ==
                  std::string_view::npos);
    case sacct_column::allocated:
    case sacct_column::requested:
      return text.empty() ||
             (text.find('=') != std::string_view::npos && text.find(' ') == std::string_view::npos);
    case sacct_column::elapsed:
    case sacct_column::elapsed_raw:
    case sacct_column::suspended:
      return text == "INVALID" || text.find_first_not_of("0123456789-:.") == std::string_view::npos;
    case sacct_column::time_limit:
    case sacct_column::time_limit_raw:
      return text == "UNLIMITED" || text == "Partition_Limit" || text == "INVALID" ||
             text.find_first_not_of("0123456789-:.") == std::string_view::npos;
    case sacct_column::submit:
    case sacct_column::start:
    case sacct_column::end:
    case sacct_column::eligible:
      return text.empty() || text == "Unknown" || text == "None" ||
             text.find_first_of("0123456789") != std::string_view::npos;
    default:
      return true;
  }
}

/// Rows of a text with a header row.
class sacct_text {
 public:
  sacct_text(packed_input& file, import_log& log, const import_options& options, char separator)
      : file_(file),
        log_(log),
        options_(options),
        separator_(separator),
        csv_(packed_source{&file}, csv_reader::default_record_limit, csv_dialect{separator, false}) {}

  bool read(const sacct_sink& to) {
    vector<std::string> names = options_.columns;
    if (names.empty()) {
      if (!advance()) return failed_ ? false : fail("the text is empty: expected the header row of sacct");
      names = std::move(next_.fields);
      has_next_ = false;
      note_table_for_people(names);
      // --parsable ends every line with a separator.
      ends_in_separator_ = names.size() > 1 && names.back().empty();
      if (ends_in_separator_) names.pop_back();
    }
    columns_.emplace(std::move(names));
    if (!to.open(*columns_)) return false;
    const vector<std::string>& all = columns_->names();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_text_column(all[i])) texts_.push_back(i);
    }
    while (take_row()) {
      // The header row again: several files in one.
      if (row_.fields == all) continue;
      if (is_header(row_.fields)) {
        return fail("line " + std::to_string(row_.line) +
                    ": another header row, with other columns (expected files with the same columns)");
      }
      sacct_row row{*columns_, std::move(row_.fields), std::move(row_.places), row_.line, {}};
      to.take(row);
    }
    if (joined_ > 0) {
      log_.note({}, counted(joined_, "row has", "rows have") +
                        " separators or line breaks in a text: they are taken for part of it");
    }
    if (!failed_) to.close();
    return !failed_;
  }

 private:
  struct record {
    vector<std::string> fields;
    vector<text_place> places;
    std::size_t line = 1;
  };

  bool fail(std::string_view text) {
    failed_ = true;
    log_.fail({}, text);
    return false;
  }

  void note_table_for_people(const vector<std::string>& names) {
    if (names.size() == 1 && names.front().find("JobID ") != std::string::npos) {
      log_.note({}, "this is sacct's table for people (sacct --parsable2 prints one that can be read)");
    }
  }

  /// Makes the next record `next_`.
  bool advance() {
    if (has_next_) return true;
    if (at_end_ || failed_) return false;
    const csv_reader::outcome o = csv_.next();
    if (o == csv_reader::outcome::failed) {
      failed_ = true;
      report_failure({&csv_.problem(), 1}, file_, log_);
    }
    at_end_ = o != csv_reader::outcome::record;
    if (at_end_) return false;
    next_ = {{}, {}, csv_.place().line};
    for (std::size_t i = 0; i < csv_.size(); ++i) {
      next_.fields.emplace_back(csv_.text(i));
      next_.places.push_back(csv_.place(i));
    }
    has_next_ = true;
    return true;
  }

  /// Whether it names the columns. A job may be called JobID, too.
  [[nodiscard]] bool is_header(const vector<std::string>& fields) const {
    const std::string_view id = sacct_column_names[0];
    return !looks_like(sacct_column::job_id, fields[*columns_->at(sacct_column::job_id)]) &&
           std::find(fields.begin(), fields.end(), id) != fields.end();
  }

  void drop_last_if_empty(record& r) const {
    const std::size_t width = columns_->names().size();
    const bool has_one_more = ends_in_separator_ ? r.fields.size() > width : r.fields.size() == width + 1;
    if (has_one_more && r.fields.back().empty()) {
      r.fields.pop_back();
      r.places.pop_back();
    }
  }

  /// Makes the next row that has all its fields `row_`.
  bool take_row() {
    const std::size_t width = columns_->names().size();
    while (advance()) {
      row_ = std::move(next_);
      has_next_ = false;
      bool is_joined = false;
      // A text with a line break goes on in the next record, which then is no row of its own.
      while (!texts_.empty() && row_.fields.size() < width && advance() && next_.fields.size() < width + 1) {
        if (row_.fields.size() + next_.fields.size() - 1 > width + 1) break;
        row_.fields.back().append("\n").append(next_.fields.front());
        for (std::size_t i = 1; i < next_.fields.size(); ++i) {
          row_.fields.push_back(std::move(next_.fields[i]));
          row_.places.push_back(next_.places[i]);
        }
        has_next_ = false;
        is_joined = true;
      }
      if (failed_) return false;
      drop_last_if_empty(row_);
      is_joined = is_joined || row_.fields.size() > width;
      if (row_.fields.size() > width && !join_surplus(width)) row_.fields.clear();
      if (row_.fields.size() == width) {
        joined_ += is_joined ? 1U : 0U;
        return true;
      }
      const std::size_t found = row_.places.size();
      const text_problem problem{row_.places.empty() ? text_place{row_.line, 1} : row_.places.back(),
                                 {},
                                 "expected " + std::to_string(width) +
                                     " fields, as in the header row, found " + std::to_string(found)};
      if (at_end_ && csv_.is_cut_off()) {
        failed_ = true;
        report_failure({&problem, 1}, file_, log_);
        log_.fail({}, "the file ends in the middle of this row (is it truncated?)");
        return false;
      }
      log_.reject({&problem, 1});
    }
    return false;
  }

  /// A row with too many fields has separators in a text: in the first column of texts with which all others
  /// look like what they should be.
  bool join_surplus(std::size_t width) {
    const std::size_t surplus = row_.fields.size() - width;
    for (const std::size_t at : texts_) {
      vector<std::string> fields;
      vector<text_place> places;
      for (std::size_t i = 0; i < row_.fields.size(); ++i) {
        if (i > at && i <= at + surplus) {
          fields.back().append(1, separator_).append(row_.fields[i]);
        } else {
          fields.push_back(row_.fields[i]);
          places.push_back(row_.places[i]);
        }
      }
      bool fits = true;
      for (std::size_t c = 0; c < sacct_column_names.size(); ++c) {
        const auto column = columns_->at(static_cast<sacct_column>(c));
        fits = fits && (!column || looks_like(static_cast<sacct_column>(c), fields[*column]));
      }
      if (!fits) continue;
      row_.fields = std::move(fields);
      row_.places = std::move(places);
      return true;
    }
    return false;
  }

  packed_input& file_;
  import_log& log_;
  const import_options& options_;
  char separator_;
  csv_reader csv_;
  std::optional<sacct_columns> columns_;
  /// The columns of texts.
  vector<std::size_t> texts_;
  record next_;
  record row_;
  std::size_t joined_ = 0;
  bool ends_in_separator_ = false;
  bool has_next_ = false;
  bool at_end_ = false;
  bool failed_ = false;
};

// --json

/// The member at the end of a path of keys: "time.start".
[[nodiscard]] std::optional<json_value> member(json_value from, std::string_view path) {
  std::optional<json_value> at = from;
  while (at && !path.empty()) at = at->is_object() ? at->find(take_until(path, '.')) : std::nullopt;
  return at;
}

/// A text, or a number, also as {"set": true, "infinite": false, "number": 8}; empty if there is none.
[[nodiscard]] std::string value_at(json_value from, std::string_view path) {
  const auto v = member(from, path);
  if (!v) return {};
  if (v->is_array()) {
    // The state, and what goes on in it.
    std::string first;
    v->for_each([&](json_value e) {
      if (first.empty() && e.is_string()) first = e.text();
    });
    return first;
  }
  if (!v->is_object()) return v->is_string() || v->is_number() ? std::string{v->text()} : std::string{};
  const auto is = [&](std::string_view key) {
    const auto flag = v->find(key);
    return flag && flag->text() == "true";
  };
  if (is("infinite")) return "UNLIMITED";
  return is("set") ? value_at(*v, "number") : std::string{};
}

/// "cpu=8,gres/gpu:a100=2", as sacct writes it otherwise. Memory is in MiB.
[[nodiscard]] std::string resources_at(json_value from, std::string_view path) {
  std::string text;
  const auto list = member(from, path);
  if (!list || !list->is_array()) return text;
  list->for_each([&](json_value r) {
    const std::string type = value_at(r, "type");
    const std::string name = value_at(r, "name");
    const std::string count = value_at(r, "count");
    if (type.empty() || count.empty()) return;
    text.append(text.empty() ? "" : ",").append(type);
    if (!name.empty()) text.append("/").append(name);
    text.append("=").append(count).append(type == "mem" ? "M" : "");
  });
  return text;
}

/// "2000_3", "2000_[4-10%2]" or "3000+1".
[[nodiscard]] std::string id_of(json_value job) {
  const auto is_one = [](const std::string& n) { return !n.empty() && n != "0"; };
  const std::string array = value_at(job, "array.job_id");
  const std::string rest = value_at(job, "array.task");
  const std::string task = value_at(job, "array.task_id");
  const std::string het = value_at(job, "het.job_id");
  if (is_one(array) && !rest.empty()) return array + "_[" + rest + ']';
  if (is_one(array) && !task.empty()) return array + '_' + task;
  const std::string offset = value_at(job, "het.job_offset");
  if (is_one(het)) return het + '+' + (offset.empty() ? "0" : offset);
  return value_at(job, "job_id");
}

[[nodiscard]] std::string user_at(json_value job, std::string_view path) {
  const std::string user = value_at(job, path);
  return user.empty() ? value_at(job, "association.user") : user;
}

struct json_column {
  std::string_view name;
  std::string (*read)(json_value job, std::string_view path);
  std::string_view path;
};
/// In the form in which sacct prints them.
constexpr std::array<json_column, 23> json_columns = {{
    {"JobID", [](json_value j, std::string_view) { return id_of(j); }, {}},
    {"Cluster", value_at, "cluster"},
    {"User", user_at, "user"},
    {"Account", value_at, "account"},
    {"QOS", value_at, "qos"},
    {"Submit", value_at, "time.submission"},
    {"Eligible", value_at, "time.eligible"},
    {"ElapsedRaw", value_at, "time.elapsed"},
    {"TimelimitRaw", value_at, "time.limit"},
    {"AllocTRES", resources_at, "tres.allocated"},
    {"ReqTRES", resources_at, "tres.requested"},
    {"Partition", value_at, "partition"},
    {"Start", value_at, "time.start"},
    {"End", value_at, "time.end"},
    {"State", value_at, "state.current"},
    {"Suspended", value_at, "time.suspended"},
    {"Restarts", value_at, "restart_cnt"},
    {"NodeList", value_at, "nodes"},
    {"Constraints", value_at, "constraints"},
    {"Licenses", value_at, "licenses"},
    {"Reservation", value_at, "reservation.name"},
    {"McsLabel", value_at, "mcs.label"},
    {"SegmentSize", value_at, "segment_size"},
}};

bool read_sacct_json(packed_input& file, import_log& log, const import_options& options,
                     const sacct_sink& to) {
  const auto text = file.read_all();
  if (!text) {
    log.fail({}, file.problem());
    return false;
  }
  errors found;
  const auto document = json_document::parse(shown_path(options.file), *text, found);
  if (!document) {
    complain(found);
    return false;
  }
  const auto jobs = member(document->root(), "jobs");
  if (!jobs || !jobs->is_array()) {
    log.fail({}, "expected an object with the list jobs, as sacct --json prints it");
    return false;
  }
  vector<std::string> names;
  for (const json_column& c : json_columns) names.emplace_back(c.name);
  const sacct_columns columns{std::move(names)};
  if (!to.open(columns)) return false;
  std::size_t number = 0;
  const imported_fields known{embedded::sacct_json_tsv};
  std::map<std::string, named_count, std::less<>> unknown;
  jobs->for_each([&](json_value job) {
    if (job.is_object()) {
      job.for_each([&](json_value field) {
        if (!known.knows(field.key())) unknown[std::string{field.key()}].add(id_of(job));
      });
    }
    vector<std::string> fields;
    for (const json_column& c : json_columns) fields.push_back(c.read(job, c.path));
    sacct_row row{columns, std::move(fields), {}, ++number, job.pointer()};
    to.take(row);
  });
  for (const auto& [key, of_jobs] : unknown) {
    log.note("field " + key,
             of_jobs.text("job has it, and", "jobs have it, and") + " it is not known what it means");
  }
  to.close();
  return true;
}

}  // namespace

sacct_columns::sacct_columns(vector<std::string> names) : names_(std::move(names)) {
  for (std::size_t c = 0; c < sacct_column_names.size(); ++c) at_[c] = find(sacct_column_names[c]);
  // It tells runs of a job apart from others as well, but neither arrays nor components.
  if (!at_[0]) at_[0] = find("JobIDRaw");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    // The same column again says the same again.
    if (names_[i].empty() || find(names_[i]) != i) continue;
    const auto used_up = [&](std::size_t c) { return at_[c] == i; };
    std::size_t c = 0;
    while (c < static_cast<std::size_t>(sacct_column::cluster) && !used_up(c)) ++c;
    if (c == static_cast<std::size_t>(sacct_column::cluster)) tags_.push_back(i);
  }
}

std::optional<std::size_t> sacct_columns::find(std::string_view name) const {
  const auto at =
      std::find_if(names_.begin(), names_.end(), [&](const std::string& n) { return same_word(n, name); });
  if (at == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names_.begin());
}

void sacct_row::report(sacct_column c, std::string text) {
  const std::size_t at = columns_->at(c).value_or(0);
  const text_place place = at < places_.size() ? places_[at] : text_place{number_, 1};
  problems_.push_back({place, std::string{sacct_column_names[static_cast<std::size_t>(c)]}, std::move(text)});
}

void sacct_row::leave_out(import_log& log) const {
  if (where_.empty()) return log.reject(problems_);
  std::string all;
  for (const text_problem& p : problems_) all.append(all.empty() ? "" : "; ").append(p.field + ": " + p.text);
  log.reject(where_, all);
}

bool read_sacct(packed_input& file, import_log& log, const import_options& options, const sacct_sink& to) {
  constexpr std::size_t enough = 4096;
  if (look_of(file.peek(enough)).kind == file_kind::json) return read_sacct_json(file, log, options, to);
  // Its own default; a comma can't be what separates fields, as lists of resources have some.
  const auto separator = options.separator == "," ? std::optional{'|'} : separator_of(options.separator);
  if (!separator) {
    complain("--separator: expected one character, or tab, found \"" + options.separator + '"',
             "allot import");
    return false;
  }
  return sacct_text{file, log, options, *separator}.read(to);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
