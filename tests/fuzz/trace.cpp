// SPDX-License-Identifier: BSL-1.0
// Whatever a trace says, check, decide, explain and replay agree on whether it is valid, beside a scenario
// and alone, and what is valid runs.
#include <fstream>

#include "tests/fuzz/agreement.hpp"

namespace {

/// Its quotas, models and pools are those of the corpus.
constexpr const char* scenarios[] = {
    R"({"format": "allot-scenario/1", "resources": ["gpu", "cpu"],
        "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8, "gpu_model": "H100", "cpu_milli": 64000},
                              {"name": "m", "gpus": 4, "gpu_model": "A100", "memory_mib": 1000}]},
        "quotas": [{"name": "r", "nominal": "cluster"},
                   {"name": "a", "parent": "r", "nominal": {"gpu": 4}, "preempt": {"reclaim": "any"}},
                   {"name": "b", "parent": "r", "access": {"users": ["ana"]}, "time_limit_s": {"train": 5}}]})",
    R"({"format": "allot-scenario/1", "policy": "kueue", "resources": ["h100/gpu", "a100/gpu"],
        "cluster": {"nodes": [{"name": "n", "gpus": 8, "gpu_model": "H100"},
                              {"name": "m", "gpus": 4, "gpu_model": "A100"}]},
        "quotas": [{"name": "a", "nominal": {"h100/gpu": 4, "a100/gpu": 4}},
                   {"name": "b", "nominal": {"h100/gpu": 4, "a100/gpu": 0}}]})",
    R"({"format": "allot-scenario/1", "policy": "easy", "cluster": {"nodes": [{"name": "n", "gpus": 8}]}})"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char* const file = "fuzzed_trace.csv";
  std::ofstream{file, std::ios::binary} << allot_test::text_of(data, size);
  for (const char* const text : scenarios) {
    allot::lab::scenario_source source;
    source.file = "beside_the_trace.json";
    source.trace = file;
    allot_test::expect_agreement(text, source, size);
  }
  return 0;
}
