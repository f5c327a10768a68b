// SPDX-License-Identifier: BSL-1.0
// The readers of JSON: scenarios, and the objects of Kueue and KAI, also in YAML. Any bytes are read or
// refused with a reason, and what an importer makes without a complaint is JSON.
#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/io/yaml_text.hpp"
#include "lab/scenario/scenario.hpp"

#include <cstdio>
#include <string>

#include "tests/fuzz/expect.hpp"

using namespace allot::lab;
using allot_test::expect;

namespace {

void import_with(scenario_maker make, json_value root) {
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  errors found;
  import_log log{"fuzzed", 0, nowhere};
  const std::string text = make(root, found, log, {});
  expect(!text.empty() || !found.empty(), "a scenario, or a reason why there is none");
  if (!found.empty()) return;
  static_cast<void>(json_document::parse("made", text, found));
  expect(found.empty(), "what is made is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = allot_test::text_of(data, size);
  errors found;
  scenario_source source;
  source.file = "fuzzed";
  // Files that a scenario names are not fuzzed.
  if (text.find("trace") == std::string_view::npos) {
    const auto s = parse_scenario(text, source, found);
    expect(s.has_value() == found.empty(), "a scenario, or a reason why there is none");
  }
  errors of_yaml;
  if (const auto json = json_of_yaml("fuzzed", std::string{text}, of_yaml)) {
    errors wrong;
    const auto same = json_document::parse("made", *json, wrong);
    expect(same.has_value() || !wrong.empty(), "what is made of YAML is read as JSON, or refused");
  }
  errors of_json;
  const auto document = json_document::parse("fuzzed", text, of_json);
  expect(document.has_value() || !of_json.empty(), "a document, or a reason why there is none");
  if (!document) return 0;
  import_with(make_kueue_scenario, document->root());
  import_with(make_kai_scenario, document->root());
  return 0;
}
