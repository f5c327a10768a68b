// SPDX-License-Identifier: BSL-1.0
#include "../src/import_associations.hpp"

#include "../src/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace allot_slurm;

namespace {

// As sacctmgr writes it.
constexpr const char* tree =
    "allot|root||||1||||\n"
    "allot|root|root|||1||||\n"
    "allot|lab|||root|1|gres/gpu=128|||\n"
    "allot|vision|||lab|2|cpu=640,gres/gpu=48|20||\n"
    "allot|vision|ana|||1||||\n"
    "allot|vision|ben|debug||5|gres/gpu=8|||\n"
    "allot|speech|||lab|parent|gres/gpu=80|||\n"
    "allot|guests|||root|1|||gres/gpu=1|4\n";

[[nodiscard]] bool has(const std::vector<std::string>& all, const std::string& part) {
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("import: a tree of accounts becomes quotas that a governor takes") {
  const imported_quotas got = import_associations(tree, "");
  CHECK(got.problem.empty());
  const config_reading reading = parse_config(got.config, "imported");
  for (const std::string& p : reading.problems) FAIL(p);
  REQUIRE(reading.value);
  const auto& quotas = reading.value->quotas.quotas;
  REQUIRE(quotas.size() == 5);
  CHECK(quotas[0].spec.name == "root");
  CHECK(quotas[1].spec.parent == "root");
  CHECK(quotas[1].spec.inclusive);
  CHECK(!quotas[0].spec.inclusive);
  CHECK(quotas[2].spec.name == "vision");
  CHECK(quotas[2].spec.parent == "lab");
  CHECK(quotas[2].spec.nominal[0] == allot::quantity::whole(48));
  CHECK(got.config.find("\"weight\": 2}") != std::string::npos);
  CHECK(reading.value->quota_of("speech") == 3U);
  CHECK(reading.value->slurm.accounts.size() == 5);
}

TEST_CASE("import: what is not taken over is said") {
  const auto notes = import_associations(tree, "allot").notes;
  CHECK(has(notes, "account vision: GrpTRES=\"cpu=640\" stays a limit of Slurm's"));
  CHECK(has(notes, "account vision: GrpJobs=20"));
  CHECK(has(notes, "user ben of vision in debug: GrpTRES="));
  CHECK(has(notes, "user ben of vision in debug: fairshare=5"));
  CHECK(!has(notes, "user ana"));
  CHECK(has(notes, "account speech: fairshare=parent becomes the weight 1"));
  CHECK(has(notes, "account guests: it has no GrpTRES=gres/gpu"));
  CHECK(has(notes, "account guests: MaxTRES="));
  CHECK(!has(notes, "account root: it has no"));
  CHECK(has(notes, "/slurm/partitions"));
  const auto more = import_associations("c|lab||||1|gres/gpu=8|||\nc|a|||lab|1|gres/gpu=9|||\n", "").notes;
  CHECK(has(more, "own 9 GPUs, more than its 8"));
}

TEST_CASE("import: what is no tree of one cluster is refused") {
  CHECK(!import_associations("", "").problem.empty());
  CHECK(!import_associations(tree, "other").problem.empty());
  CHECK(!import_associations("sacctmgr: error: no connection\n", "").problem.empty());
  const std::string two = std::string{tree} + "other|root||||1||||\n";
  CHECK(import_associations(two, "").problem.find("--cluster") != std::string::npos);
  CHECK(import_associations(two, "other").problem.empty());
}
