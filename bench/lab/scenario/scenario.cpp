// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario.hpp"

#include "lab/io/files.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/lab/trace_csv.hpp>

#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::string_view format = "allot-scenario/1";

void check_format(json_object& top, errors& found) {
  const auto value = top.require("format");
  if (!value || (value->is_string() && value->text() == format)) return;
  value->report(found, "expected \"" + std::string{format} + "\", found " + value->shown());
}

/// The path of the scenario's trace, if it has one.
[[nodiscard]] std::optional<std::string> trace_named(json_object& top, const std::string& scenario_path,
                                                     errors& found) {
  const auto value = top.find("trace");
  if (!value || !expect_object(*value, found)) return std::nullopt;
  json_object trace{*value, found};
  const auto file = trace.require("file");
  trace.reject_unknown();
  const auto path = file ? read_string(*file, found) : std::nullopt;
  if (path && path->empty()) file->report(found, "expected the path of a CSV file, found \"\"");
  if (!path || path->empty()) return std::nullopt;
  if (*path == "-" && scenario_path == "-") {
    file->report(found, "the scenario itself comes from standard input");
    return std::nullopt;
  }
  return beside(scenario_path, *path);
}

void read_trace_part(const std::string& path, scenario& to, trace_places& places, errors& found) {
  to.trace_file = shown_path(path);
  auto trace = read_trace(path, to.input, places, found);
  if (trace) to.trace = std::move(*trace);
}

/// Reads the trace given on the command line, or else the one that the scenario names. Returns the places in
/// its file.
trace_places read_workload(const scenario_source& source, const std::optional<std::string>& named,
                           scenario& to, errors& found) {
  trace_places places;
  if (source.workload != nullptr) {
    to.trace_file = source.workload_name;
    to.trace = *source.workload;
  } else if (source.trace || named) {
    read_trace_part(source.trace ? *source.trace : *named, to, places, found);
  }
  if (source.prepare) source.prepare(to, found);
  return places;
}

[[nodiscard]] std::optional<trace> take_trace(trace_reading reading, const std::string& file, errors& found) {
  for (const text_problem& p : reading.problems) found.add(file, shown(p.place, p.field), p.text);
  if (reading.stopped) found.add(file, {}, "there may be more: the rest was not read");
  if (!reading) return std::nullopt;
  return std::move(reading.value);
}

}  // namespace

std::string shown(const text_place& place, std::string_view field) {
  std::string text = "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
  if (!field.empty()) text.append(" (").append(field).append(")");
  return text;
}

std::optional<trace> read_trace(const std::string& path, sim::fingerprint& input, errors& found) {
  trace_places places;
  auto t = read_trace(path, input, places, found);
  if (t) check_amounts(*t, shown_path(path), places, found);
  return t;
}

std::optional<trace> read_trace(const std::string& path, sim::fingerprint& input, trace_places& places,
                                errors& found) {
  packed_input file{path};
  trace_reading reading;
  if (file.problem().empty()) {
    reading = read_trace_csv([&](char* to, std::size_t size) {
      const std::ptrdiff_t n = file.read(to, size);
      if (n > 0) input.add(std::string_view{to, static_cast<std::size_t>(n)});
      return n;
    });
  }
  places = std::move(reading.places);
  if (file.problem().empty()) return take_trace(std::move(reading), shown_path(path), found);
  found.add(shown_path(path), {}, file.problem() + " (expected a CSV file)");
  return std::nullopt;
}

std::optional<trace> parse_trace(std::string_view text, const std::string& path, errors& found) {
  trace_reading reading = parse_trace_csv(text);
  const trace_places places = std::move(reading.places);
  auto t = take_trace(std::move(reading), shown_path(path), found);
  if (t) check_amounts(*t, shown_path(path), places, found);
  return t;
}

namespace {

/// Reads all of the text with the reader of `s`. Returns whether it is valid.
[[nodiscard]] bool read_text(std::string_view text, const scenario_source& source, scenario_reader& reader,
                             scenario& s, errors& found) {
  const std::size_t before = found.size();
  s.file = shown_path(*source.file);
  s.input.add_text(text);
  const auto document = json_document::parse(s.file, text, found);
  if (!document || !expect_object(document->root(), found)) return false;
  json_object top{document->root(), found};
  check_format(top, found);
  reader.read_resources(top);
  // Without resources every amount would be an unknown key.
  if (s.resources.empty()) return false;
  reader.read_policy(top);
  reader.find_flavors(top);
  reader.read_cluster(top);
  reader.read_command_line(source);
  const auto trace = trace_named(top, *source.file, found);
  const trace_places places = read_workload(source, trace, s, found);
  const std::size_t before_quotas = found.size();
  reader.read_quotas(top);
  if (s.quotas.empty() && found.size() == before_quotas) reader.make_quotas_of_tenants();
  reader.check_quotas();
  reader.read_events(top);
  reader.read_faults(top);
  reader.read_speeds(top);
  if (found.size() == before) reader.check_settings();
  reader.read_jobs(top);
  reader.check_cancellations();
  top.reject_unknown();
  reader.check_trace(places);
  reader.check_total();
  if (found.size() != before) return false;
  reader.finish();
  return true;
}

}  // namespace

std::optional<scenario> parse_scenario(std::string_view text, const scenario_source& source, errors& found) {
  scenario s;
  scenario_reader reader{s, found};
  if (!read_text(text, source, reader, s, found)) return std::nullopt;
  return s;
}

struct open_scenario::state {
  scenario of{};
  /// Of one call.
  errors found{};
  scenario_reader reader{of, found};
};

open_scenario::open_scenario(std::unique_ptr<state> of) noexcept : state_(std::move(of)) {}
open_scenario::open_scenario(open_scenario&& other) noexcept = default;
open_scenario& open_scenario::operator=(open_scenario&& other) noexcept = default;
open_scenario::~open_scenario() = default;

std::optional<open_scenario> open_scenario::parse(std::string_view text, const scenario_source& source,
                                                  errors& found) {
  auto of = std::make_unique<state>();
  const bool is_valid = read_text(text, source, of->reader, of->of, of->found);
  found.add_all(of->found);
  if (!is_valid) return std::nullopt;
  return open_scenario{std::move(of)};
}

const scenario& open_scenario::get() const noexcept {
  return state_->of;
}

std::optional<job_entry> open_scenario::read_job(std::string_view text, errors& found) {
  errors& own = state_->found;
  own = {};
  std::optional<job_entry> job;
  if (const auto document = json_document::parse(state_->of.file, text, own))
    job = state_->reader.read_job(document->root());
  found.add_all(own);
  return own.empty() ? std::move(job) : std::nullopt;
}

std::optional<scenario> read_scenario(const scenario_source& source, errors& found) {
  if (source.file) {
    packed_input file{*source.file};
    const auto text = file.read_all();
    if (text) return parse_scenario(*text, source, found);
    found.add(shown_path(*source.file), {}, file.problem() + " (expected a scenario)");
    return std::nullopt;
  }
  const std::size_t before = found.size();
  scenario s;
  s.file = source.trace ? shown_path(*source.trace) : "the command line";
  s.resources = {"gpu"};
  scenario_reader reader{s, found};
  reader.read_command_line(source);
  const trace_places places = read_workload(source, {}, s, found);
  reader.make_quotas_of_tenants();
  reader.check_trace(places);
  reader.check_total();
  if (found.size() != before) return std::nullopt;
  reader.finish();
  return s;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
