// SPDX-License-Identifier: BSL-1.0
#include "lab/generate.hpp"

#include "lab/errors.hpp"
#include "lab/report.hpp"
#include "lab/staging.hpp"

#include <allot/sim/decimal.hpp>
#include <allot/sim/generate.hpp>
#include <allot/sim/trace_csv_writer.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

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

}  // namespace

int generate(const generate_options& options) {
  constexpr std::int64_t most_load = 10'000;
  sim::team_workload w;
  if (options.days < 1 || options.days > 3650) return complain("--days: expected 1 to 3650");
  if (options.gpus < 8 || options.gpus > 1'000'000) return complain("--gpus: expected 8 to 1000000");
  const auto load = permille(options.load, most_load);
  if (!load) return complain("--load: expected a number from 0 to 10, as in 0.9");
  const auto serving = permille(options.serving, *load);
  if (!serving) return complain("--serving: expected a number from 0 to the load, as in 0.11");
  w.seed = options.seed;
  w.days = options.days;
  w.cluster_gpus = options.gpus;
  w.load_permille = *load;
  w.serving_permille = *serving;
  // The teams of the story, 48 and 80 of 128, in proportion.
  w.training.front().gpus = std::max<std::int64_t>(1, options.gpus * 48 / 128);
  w.training.back().gpus = options.gpus - w.training.front().gpus;

  const sim::trace trace = sim::generate_teams(w);
  const std::string csv = sim::to_csv(trace);
  if (options.out == "-") {
    const bool written =
        std::fwrite(csv.data(), 1, csv.size(), stdout) == csv.size() && std::fflush(stdout) == 0;
    return written ? 0 : complain("can't write to standard output");
  }
  if (options.out.empty()) return complain("--out: the file has no name");
  const std::string problem = publish_file(options.out, csv, options.force);
  if (!problem.empty()) return complain(problem);
  std::printf("%s: %s jobs over %lld days\n", options.out.c_str(), report::grouped(trace.jobs.size()).c_str(),
              static_cast<long long>(options.days));
  return 0;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
