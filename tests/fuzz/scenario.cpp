// SPDX-License-Identifier: BSL-1.0
// Whatever a scenario says, check, decide, explain and replay agree on whether it is valid, and what is valid
// runs.
#include "tests/fuzz/agreement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = allot_test::text_of(data, size);
  // Files that a scenario names are not fuzzed.
  if (text.find("trace") != std::string_view::npos) return 0;
  allot::lab::scenario_source source;
  source.file = "fuzzed";
  allot_test::expect_agreement(text, source, size);
  return 0;
}
