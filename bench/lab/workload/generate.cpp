// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/generate.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/number_text.hpp"
#include "lab/io/terminal.hpp"
#include "lab/io/time_text.hpp"
#include "lab/workload/generated.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/generate_stream.hpp>
#include <allot/lab/trace_csv_writer.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The meaning of the options, and what is wrong with them, under their names in an experiment.
struct parameters {
  generated_workload workload{};
  vector<parameter_problem> problems{};

  explicit parameters(const generate_options& options) {
    workload.model = options.model;
    workload.days = options.days;
    workload.jobs = options.jobs;
    constexpr std::int64_t two_weeks = 14;
    if (!options.days && !options.jobs && options.model != "uniform") workload.days = two_weeks;
    workload.gpus = options.gpus;
    workload.tenants = options.tenants;
    workload.load =
        permille("load", options.load, "expected a number from 0 to 10, as in 0.9").value_or(workload.load);
    if (options.serving) {
      workload.serving =
          permille("serving", *options.serving, "expected a number from 0 to the load, as in 0.11");
    }
    if (options.interactive) {
      workload.interactive =
          permille("interactive", *options.interactive, "expected a number from 0 to the load, as in 0.08");
    }
    if (options.checkpoint && *options.checkpoint == "none") {
      workload.checkpoint = checkpointing{};
    } else if (options.checkpoint) {
      workload.checkpoint = checkpointing{time("checkpoint_s", *options.checkpoint, ", or none")};
    }
    if (options.restart) workload.restart = time("restart_s", *options.restart);
    if (options.mean_duration) workload.mean_duration = time("mean_duration_s", *options.mean_duration);
    std::string problem;
    workload.estimates = read_estimates(options.estimates, problem).value_or(workload.estimates);
    if (!problem.empty()) problems.push_back({"estimates", std::move(problem)});
    if (problems.empty()) problems = problems_of(workload);
  }

 private:
  std::optional<std::int64_t> permille(std::string_view parameter, const std::string& text,
                                       std::string_view expectation) {
    const parsed_milli n = parse_milli(text);
    if (n.problem == decimal_problem::none && n.value >= 0) return n.value;
    problems.push_back({parameter, std::string{expectation} + ", found \"" + text + '"'});
    return std::nullopt;
  }
  std::optional<instant> time(std::string_view parameter, const std::string& text,
                              std::string_view otherwise = {}) {
    const auto t = read_time(text);
    if (!t) {
      std::string problem = "expected ";
      problem.append(time_forms).append(otherwise).append(", found \"").append(text).append("\"");
      problems.push_back({parameter, std::move(problem)});
    }
    return t;
  }
};

/// The command-line name of a parameter: without its unit, since times may state theirs.
std::string option_of(std::string_view parameter) {
  constexpr std::string_view unit = "_s";
  if (parameter.size() > unit.size() && parameter.substr(parameter.size() - unit.size()) == unit) {
    parameter.remove_suffix(unit.size());
  }
  std::string name = "--";
  for (const char c : parameter) name += c == '_' ? '-' : c;
  return name;
}

constexpr std::string_view header =
    "job_id,submit_s,duration_s,gpus,tenant,priority,class,preemptible,checkpoint_s,restart_s";

/// `estimate` in seconds; without one there is no column for it.
void append_job(const workload_stream& stream, const generated_job& job, std::int64_t estimate,
                std::string& text) {
  const workload_part& part = stream.part(job.part);
  text += stream.id_of(job);
  for (const std::int64_t milli : {job.submit, job.duration, job.gpus.in_milli()}) {
    text += ',';
    append_milli(text, milli);
  }
  append_csv_field(text += ',', part.tenant);
  text.append(",").append(std::to_string(part.priority)).append(",");
  append_csv_field(text, part.job_class);
  text += part.preemptible ? ",true," : ",false,";
  if (part.checkpoint) append_milli(text, *part.checkpoint);
  text += ',';
  append_milli(text, part.restart);
  if (estimate != 0) text.append(",").append(std::to_string(estimate));
  text += '\n';
}

}  // namespace

int generate(const generate_options& options) {
  const parameters p{options};
  for (const parameter_problem& problem : p.problems) {
    complain(option_of(problem.parameter) + ": " + problem.text, "allot generate");
  }
  if (!p.problems.empty()) return bad_input_status;
  if (options.out.empty()) return complain("--out: the file has no name", "allot generate");
  output_target out;
  if (std::string problem = out.open(options.out, options.force); !problem.empty())
    return complain(problem, "allot generate");

  std::uint64_t jobs = 0;
  std::uint64_t hours = 0;
  if (auto stream = stream_of(p.workload, options.seed)) {
    const bool has_estimates = p.workload.estimates != estimate_model::none;
    out.text().append(header).append(has_estimates ? ",estimate_s\n" : "\n");
    estimator draw{p.workload.estimates, options.seed};
    while (const auto job = stream->next()) {
      append_job(*stream, *job, draw(job->duration), out.text());
      out.flush_if_full();
    }
    jobs = stream->jobs();
    hours = stream->hours();
  } else {
    const trace trace = make_generated(p.workload, options.seed);
    write_trace_csv(trace, [&out](std::string_view text) {
      out.text() += text;
      out.flush_if_full();
    });
    jobs = trace.jobs.size();
    const instant last = trace.jobs.empty() ? 0 : trace.jobs.back().submit;
    hours = static_cast<std::uint64_t>(p.workload.days ? *p.workload.days * 24 : (last + hour - 1) / hour);
  }
  if (std::string problem = out.publish(); !problem.empty()) return complain(problem, "allot generate");
  if (options.out == "-") return 0;
  const std::string days =
      hours % 24 == 0 ? grouped(hours / 24) : rounded(static_cast<std::int64_t>(hours * 1000 / 24), 1);
  const std::string text = printable(options.out) + ": " + grouped(jobs) + " jobs over " + days + " days\n";
  return print_result(text, "what was made") ? 0 : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
