// SPDX-License-Identifier: BSL-1.0
// check, decide, explain and replay agree on whether a scenario is valid, and what is valid runs.
#pragma once

#include "lab/decide/check.hpp"
#include "lab/decide/decide.hpp"
#include "lab/decide/explain_job.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/replay/replay.hpp"
#include "lab/scenario/workload.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/expect.hpp"

namespace allot_test {

using namespace allot::lab;

/// A scenario may be valid and take hours; those are none of the fuzzer's business.
[[nodiscard]] inline bool is_small(const scenario& s) {
  constexpr std::size_t most_nodes = 500;
  constexpr std::uint32_t most_pods = 500;
  std::uint64_t pods = 0;
  for (const job_entry& j : s.jobs) pods += j.pod_request.pods;
  if (s.trace) {
    for (const trace_job& j : s.trace->jobs) pods += static_cast<std::uint64_t>(j.pods) + 1;
  }
  return (!s.cluster || s.cluster->size() <= most_nodes) && pods <= most_pods;
}

inline void expect_same(const errors& found, const errors& of_check, const char* what) {
  if (found.kept() != of_check.kept()) {
    std::fprintf(stderr, "check:\n%sbut:\n%s", of_check.to_string().c_str(), found.to_string().c_str());
  }
  expect(found.kept() == of_check.kept(), what);
}

[[nodiscard]] inline errors found_by_replay(scenario s) {
  replay_result r = result_for(s, s.policy.seed, true);
  replay_control control;
  control.max_time = std::chrono::seconds{5};
  control.show_progress = false;
  output_file nowhere;
  const replay_stop stop = with_dimensions(s.resources.size(), [&](auto n) {
    return run_replay<decltype(n)::value>(s, {nowhere, nullptr}, r, control);
  });
  expect(stop.problems.empty(), "a change of quotas that is valid can be made");
  return stop.found;
}

/// Tries all of it. `number` chooses the job that is explained.
inline void expect_agreement(std::string_view text, const scenario_source& source, std::size_t number) {
  errors of_check;
  const auto s = parse_scenario(text, source, of_check);
  expect(s.has_value() == of_check.empty(), "a scenario, or a reason why there is none");
  if (!s || !is_small(*s)) return;
  check_running(*s, of_check);
  expect(!summary(*s).empty(), "a summary");

  errors of_decide;
  const auto decided = decide(*s, 4, of_decide);
  expect(decided.has_value() == of_decide.empty(), "a decision, or a reason why there is none");
  expect_same(of_decide, of_check, "decide and check agree");
  if (decided) {
    errors found;
    static_cast<void>(json_document::parse("decided", to_json(*decided, *s), found));
    expect(found.empty(), "a decision is JSON");
  }
  std::vector<std::string> ids;
  for (const job_entry& j : s->jobs) ids.push_back(j.id);
  if (s->trace) {
    for (const trace_job& j : s->trace->jobs) ids.emplace_back(s->trace->ids[j.id]);
  }
  if (!ids.empty()) {
    errors of_explain;
    const auto story = explain_job(*s, ids[number % ids.size()], 1, of_explain);
    expect(story.has_value() == of_explain.empty(), "a story, or a reason why there is none");
    expect_same(of_explain, of_check, "explain and check agree");
    if (story) expect(!to_text(*story, *s).empty(), "a story");
  }
  expect_same(found_by_replay(*s), of_check, "replay and check agree");
}

}  // namespace allot_test
