// SPDX-License-Identifier: BSL-1.0
// Whatever an experiment says, it is refused or each of its points is a scenario.
#include "lab/sweep/experiment.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "tests/fuzz/expect.hpp"

using namespace allot::lab;
using allot_test::expect;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = allot_test::text_of(data, size);
  // Other files and workloads of years are not fuzzed.
  for (const char* far : {"file", "trace", "999999", "1000000", "1e"}) {
    if (text.find(far) != std::string_view::npos) return 0;
  }
  experiment_source source;
  source.file = "fuzzed_experiment.json";
  std::ofstream{source.file, std::ios::binary} << text;
  errors found;
  const auto e = read_experiment(source, found);
  expect(e.has_value() == found.empty(), "an experiment, or a reason why there is none");
  if (!e) return 0;
  expect(!e->points.empty(), "an experiment has points");
  for (std::size_t i = 0; i < std::min<std::size_t>(e->points.size(), 3); ++i) {
    errors of_point;
    const auto s = scenario_of(*e, e->points[i * (e->points.size() - 1) / 2 % e->points.size()], of_point);
    if (!of_point.empty()) std::fprintf(stderr, "%s", of_point.to_string().c_str());
    expect(s.has_value() && of_point.empty(), "a point of a valid experiment is a scenario");
  }
  return 0;
}
