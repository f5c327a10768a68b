// SPDX-License-Identifier: BSL-1.0
// Whatever the objects of a Kueue or KAI cluster say, an importer finds something wrong with them or makes a
// scenario, which is checked.
#include "lab/import/kubernetes.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/scenario/workload.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/fuzz/expect.hpp"

using namespace allot::lab;
using allot_test::expect;

namespace {

void import(const json_document& objects, scenario_maker make) {
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  import_log log{"fuzzed", 20, nowhere};
  import_options options;
  options.file = "fuzzed";
  errors found;
  const std::string text = make(objects.root(), found, log, options);
  expect(!text.empty() || !found.empty(), "a scenario, or a reason why there is none");
  if (!found.empty()) return;
  errors wrong;
  const auto document = json_document::parse("made", text, wrong);
  expect(document.has_value(), "what is made is JSON");
  // Values that only a scenario refuses are reported by the import, too.
  scenario_source source;
  source.file = "made";
  const auto s = parse_scenario(text, source, wrong);
  expect(s.has_value() == wrong.empty(), "a valid scenario, or what is wrong with it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  errors found;
  const auto objects = json_document::parse("fuzzed", allot_test::text_of(data, size), found);
  if (!objects) return 0;
  import(*objects, make_kueue_scenario);
  import(*objects, make_kai_scenario);
  return 0;
}
