// SPDX-License-Identifier: BSL-1.0
#include "lab/generate.hpp"

#include "lab/errors.hpp"
#include "lab/report.hpp"
#include "lab/staging.hpp"

#include <allot/sim/decimal.hpp>
#include <allot/sim/generate.hpp>
#include <allot/sim/generate_parts.hpp>
#include <allot/sim/trace_csv_writer.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::string_view teams_model = "teams";

int complain(const std::string& problem) {
  std::fprintf(stderr, "allot generate: %s\n", problem.c_str());
  return bad_input_status;
}

/// A part of one in thousandths, or nothing if it is none up to `most`.
std::optional<std::int64_t> permille(const std::string& text, std::int64_t most) {
  const sim::parsed_milli n = sim::parse_milli(text);
  if (n.problem != sim::decimal_problem::none || n.value < 0 || n.value > most) return std::nullopt;
  return n.value;
}

/// What the options say once they have been looked at.
struct parameters {
  sim::workload_size size{};
  sim::workload_mix mix{};
};

/// Empty, or what is wrong.
std::string read(const generate_options& options, parameters& to) {
  constexpr std::int64_t most_load = 10'000;
  if (options.days && options.jobs)
    return "--days and --jobs: expected one of them; the other follows from the load";
  if (options.days && (*options.days < 1 || *options.days > 3650)) return "--days: expected 1 to 3650";
  if (options.jobs && (*options.jobs < 1 || *options.jobs > 100'000'000)) {
    return "--jobs: expected 1 to 100000000";
  }
  if (options.gpus < 8 || options.gpus > 1'000'000) return "--gpus: expected 8 to 1000000";
  if (options.tenants && (*options.tenants < 1 || *options.tenants > 1'000))
    return "--tenants: expected 1 to 1000";
  const auto load = permille(options.load, most_load);
  if (!load) return "--load: expected a number from 0 to 10, as in 0.9";
  const bool is_teams = options.model == teams_model;
  if (!is_teams && *load == 0) return "--load: expected a number above 0, as in 0.9";
  const bool is_mix = options.model == "mix";
  if (options.serving && !is_mix && !is_teams) return "--serving: only the models mix and teams have serving";
  if (options.interactive && !is_mix) return "--interactive: only the model mix has interactive sessions";
  if (is_teams && (options.jobs || options.tenants)) {
    return "--model teams: its three teams submit for so many --days (other models take --jobs and "
           "--tenants)";
  }
  // Where the load is small, serving and sessions are not all of it.
  const auto part = [&](const std::optional<std::string>& said, std::int64_t otherwise) {
    return said ? permille(*said, *load) : std::optional{std::min(otherwise, is_teams ? *load : *load / 4)};
  };
  const auto serving = part(options.serving, to.mix.inference_permille);
  if (!serving) return "--serving: expected a number from 0 to the load, as in 0.11";
  const auto interactive = part(options.interactive, to.mix.interactive_permille);
  if (!interactive) return "--interactive: expected a number from 0 to the load, as in 0.08";
  if (is_mix && *serving + *interactive >= *load) {
    return "--serving and --interactive: expected less than the load together, so that there is some "
           "training";
  }
  to.mix = {*serving, *interactive};
  to.size.seed = options.seed;
  to.size.cluster_gpus = options.gpus;
  to.size.load_permille = *load;
  constexpr std::int64_t two_weeks = 14;
  if (!options.jobs) to.size.days = options.days.value_or(two_weeks);
  to.size.jobs = options.jobs;
  // In a mix nobody keeps GPUs for longer than the batch queues of most clusters allow.
  to.size.longest = is_mix ? 3 * sim::day : 14 * sim::day;
  return {};
}

std::optional<sim::workload_kind> kind_of(std::string_view model) {
  constexpr std::pair<std::string_view, sim::workload_kind> kinds[] = {
      {"mix", sim::workload_kind::mix},
      {"philly", sim::workload_kind::philly},
      {"helios", sim::workload_kind::helios},
      {"openb", sim::workload_kind::openb},
      {"inference", sim::workload_kind::inference},
      {"interactive", sim::workload_kind::interactive}};
  for (const auto& [name, kind] : kinds) {
    if (name == model) return kind;
  }
  return std::nullopt;
}

sim::trace make_teams(const parameters& p) {
  sim::team_workload w;
  w.seed = p.size.seed;
  w.days = *p.size.days;
  w.cluster_gpus = p.size.cluster_gpus;
  w.load_permille = p.size.load_permille;
  w.serving_permille = p.mix.inference_permille;
  // The teams of the story, 48 and 80 of 128, in proportion.
  w.training.front().gpus = std::max<std::int64_t>(1, w.cluster_gpus * 48 / 128);
  w.training.back().gpus = w.cluster_gpus - w.training.front().gpus;
  return sim::generate_teams(w);
}

constexpr std::string_view header =
    "job_id,submit_s,duration_s,gpus,tenant,priority,class,preemptible,checkpoint_s,restart_s\n";

void append_job(const sim::workload_stream& stream, const sim::generated_job& job, std::string& text) {
  const sim::workload_part& part = stream.part(job.part);
  text += stream.id_of(job);
  for (const std::int64_t milli : {job.submit, job.duration, job.gpus.in_milli()}) {
    text += ',';
    sim::append_milli(text, milli);
  }
  sim::append_csv_field(text += ',', part.tenant);
  text.append(",").append(std::to_string(part.priority)).append(",");
  sim::append_csv_field(text, part.job_class);
  text += part.preemptible ? ",true," : ",false,";
  if (part.checkpoint) sim::append_milli(text, *part.checkpoint);
  text += ',';
  sim::append_milli(text, part.restart);
  text += '\n';
}

}  // namespace

const std::vector<generate_model>& generate_models() {
  static const std::vector<generate_model> all = {
      {"mix", "training, inference and interactive sessions"},
      {"philly", "training as at Microsoft in 2017"},
      {"helios", "training as at SenseTime in 2020"},
      {"openb", "pods with parts of GPUs as at Alibaba in 2023"},
      {"inference", "services that follow the day"},
      {"interactive", "sessions, a third of them forgotten"},
      {teams_model, "the three teams of the demo"},
  };
  return all;
}

int generate(const generate_options& options) {
  parameters p;
  if (std::string problem = read(options, p); !problem.empty()) return complain(problem);
  const bool is_teams = options.model == teams_model;
  const auto kind = kind_of(options.model);
  if (!is_teams && !kind) {
    std::string names;
    for (const generate_model& m : generate_models()) names.append(names.empty() ? "" : ", ").append(m.name);
    return complain("--model: there is no model \"" + options.model + "\" (expected " + names + ")");
  }
  if (options.out.empty()) return complain("--out: the file has no name");
  output_target out;
  if (std::string problem = out.open(options.out, options.force); !problem.empty()) return complain(problem);

  std::uint64_t jobs = 0;
  std::uint64_t hours = 0;
  if (is_teams) {
    const sim::trace trace = make_teams(p);
    sim::write_trace_csv(trace, [&out](std::string_view text) {
      out.text() += text;
      out.flush_if_full();
    });
    jobs = trace.jobs.size();
    hours = static_cast<std::uint64_t>(*p.size.days) * 24;
  } else {
    const sim::workload_tenants tenants =
        options.tenants ? sim::numbered_tenants(static_cast<std::size_t>(*options.tenants))
                        : sim::demo_tenants();
    sim::workload_stream stream{sim::make_parts(*kind, tenants, p.size, p.mix), p.size};
    out.text() += header;
    while (const auto job = stream.next()) {
      append_job(stream, *job, out.text());
      out.flush_if_full();
    }
    jobs = stream.jobs();
    hours = stream.hours();
  }
  if (std::string problem = out.publish(); !problem.empty()) return complain(problem);
  if (options.out == "-") return 0;
  std::printf("%s: %s jobs over %s days\n", options.out.c_str(), report::grouped(jobs).c_str(),
              hours % 24 == 0 ? report::grouped(hours / 24).c_str()
                              : report::rounded(static_cast<std::int64_t>(hours * 1000 / 24), 1).c_str());
  return 0;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
