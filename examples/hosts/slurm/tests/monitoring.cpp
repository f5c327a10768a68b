// SPDX-License-Identifier: BSL-1.0
//
// The board and the alerts name metrics that are there.
#include "../src/words.hpp"
#include "governor/src/metrics.hpp"
#include "governor/tests/snapshots.hpp"

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

[[nodiscard]] std::string read(const std::string& name) {
  std::ifstream in{std::filesystem::path{__FILE__}.parent_path().parent_path() / "monitoring" / name};
  return {std::istreambuf_iterator<char>{in}, {}};
}
[[nodiscard]] std::set<std::string> metrics_in(const std::string& text, const std::string& before) {
  const std::regex wanted{before + "(allot_slurm_[a-z_]+)"};
  std::set<std::string> names;
  for (std::sregex_iterator at{text.begin(), text.end(), wanted}, end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

}  // namespace

TEST_CASE("monitoring: the board and the alerts name metrics that are written, and the board all of them") {
  const auto written = metrics_in(
      allot_governor::metrics_of(allot_governor::test::sample("lab", allot_slurm::words)), "# TYPE ");
  REQUIRE(written.size() > 30);
  CHECK(metrics_in(read("grafana.json"), "") == written);
  const auto in_alerts = metrics_in(read("alerts.yml"), "");
  CHECK(in_alerts.size() > 5);
  for (const std::string& name : in_alerts) {
    CAPTURE(name);
    CHECK(written.count(name) == 1);
  }
  boost::json::error_code wrong;
  CHECK(boost::json::parse(read("grafana.json"), wrong).is_object());
  CHECK_FALSE(wrong);
}
