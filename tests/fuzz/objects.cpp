// SPDX-License-Identifier: BSL-1.0
// Whatever the objects of a Kueue or KAI cluster, or a configuration of HiveD, say, an importer finds
// something wrong with them or makes a scenario, which is checked; and one by one each Workload of a live
// cluster is a job, or there is a reason why not.
#include "lab/import/kubernetes.hpp"
#include "lab/import/kueue_cluster.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/lab/json_writer.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

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

void read_live(const json_document& all) {
  errors ignored;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<kueue_object> objects;
  std::vector<std::string> workloads;
  for (const auto& [kind, of_kind] : read_objects(all.root(), ignored)) {
    for (const kubernetes_object& o : of_kind) {
      json_writer json;
      write_value(o.value, json);
      if (kind == "Workload") {
        workloads.push_back(json.text());
      } else {
        texts.emplace_back(o.name, json.text());
      }
    }
  }
  for (const auto& [name, text] : texts) objects.push_back({"", name, text});
  errors found;
  auto cluster = kueue_cluster::make(objects, {}, found);
  expect(cluster.has_value() == found.empty(), "a cluster, or what is wrong with it");
  if (!cluster) return;
  for (const std::string& w : workloads) {
    constexpr allot::instant now = 1'777'600'000'000;
    const kueue_reading r = cluster->read(w, now);
    expect(r.job.has_value() || !r.why.empty(), "a job, or why it is none");
    const bool is_pending = r.standing == kueue_standing::pending;
    expect(!is_pending || r.job.has_value(), "what is pending is a job");
    allot::pods_by_set most{};
    if (r.job) most[0] = r.job->pod_request.pods;
    for (std::size_t s = 0; r.job && s < r.job->sets.size(); ++s) most[s] = r.job->sets[s].pods.pods;
    const auto got = cluster->assign(w, {}, most, now);
    expect(!is_pending || got.has_value(), "it can get what it asks for");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  errors found;
  const auto objects = json_document::parse("fuzzed", allot_test::text_of(data, size), found);
  if (!objects) return 0;
  import(*objects, make_kueue_scenario);
  import(*objects, make_kai_scenario);
  import(*objects, make_hived_scenario);
  read_live(*objects);
  return 0;
}
