// SPDX-License-Identifier: BSL-1.0
// Decisions of Kueue's own code (tests/systems/kueue/conformance): ours are the same.
#include "lab/decide/decide.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace allot;

namespace {

/// What is decided, one entry a job: "p0 starts: 2 acc=fa mem=fa, 1 net=ga", "w3 goes for p0: reclaim".
using decisions = std::set<std::string>;

std::string shown(std::string pods, std::vector<std::string> flavors) {
  std::sort(flavors.begin(), flavors.end());
  for (const std::string& f : flavors) pods.append(" ").append(f);
  return pods;
}
std::string shown(std::uint64_t pods, const vector<lab::flavor_name>& flavors) {
  std::vector<std::string> all;
  for (const auto& f : flavors) all.push_back(std::string{f.resource} + "=" + f.flavor);
  return shown(std::to_string(pods), std::move(all));
}
std::string shown(lab::json_value set) {
  std::vector<std::string> all;
  set.find("flavors").value().for_each(
      [&](lab::json_value f) { all.push_back(std::string{f.key()} + "=" + std::string{f.text()}); });
  return shown(std::string{set.find("pods").value().text()}, std::move(all));
}

decisions decided(const lab::scenario& s) {
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  decisions all;
  for (const auto& a : d->admit) {
    std::string line = std::string{a.id} + " starts:";
    for (const auto& set : a.pod_sets) line += " " + shown(set.pods, set.flavors) + ",";
    if (a.pod_sets.empty()) line += " " + shown(a.pods, a.flavors) + ",";
    all.insert(line);
  }
  for (const auto& e : d->evict) {
    all.insert(std::string{e.id} + " goes for " + std::string{e.beneficiary} + ": " + std::string{e.reason});
  }
  return all;
}
decisions expected(lab::json_value outcome) {
  decisions all;
  outcome.find("admit").value().for_each([&](lab::json_value a) {
    std::string line = std::string{a.key()} + " starts:";
    const auto sets = a.find("pod_sets");
    if (sets) sets->for_each([&](lab::json_value set) { line += " " + shown(set) + ","; });
    if (!sets) line += " " + shown(a) + ",";
    all.insert(line);
  });
  outcome.find("evict").value().for_each([&](lab::json_value e) {
    all.insert(std::string{e.key()} + " goes for " + std::string{e.find("for").value().text()} + ": " +
               std::string{e.find("reason").value().text()});
  });
  return all;
}
std::string listed(const decisions& all) {
  std::string text;
  for (const std::string& line : all) text += "\n    " + line;
  return text.empty() ? "\n    nothing" : text;
}

/// Compares the worlds of a file, one a line: {"name", "scenario", "expect": [outcomes, any of which will
/// do]}. Those in `otherwise`, and no others, are decided otherwise.
void compare(const std::string& name, std::size_t worlds, const std::set<std::string>& otherwise) {
  if (!lab::packed_input::unpacks_gzip()) {
    MESSAGE("skipped: built without zlib");
    return;
  }
  lab::packed_input file{
      (std::filesystem::path{__FILE__}.parent_path().parent_path() / "systems/kueue/conformance" / name)
          .string()};
  const auto text = file.read_all();
  REQUIRE_MESSAGE(text, file.problem());
  std::size_t compared = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    lab::errors found;
    const auto world = lab::json_document::parse(name, line, found);
    REQUIRE_MESSAGE(world, found.to_string());
    constexpr std::string_view key = "\"scenario\":";
    const std::size_t from = line.find(key) + key.size();
    const std::string of{world->root().find("name").value().text()};
    lab::scenario_source source;
    source.file = of;
    const auto s = lab::parse_scenario(line.substr(from, line.find(",\"expect\":") - from), source, found);
    REQUIRE_MESSAGE(s, found.to_string());
    const decisions ours = decided(*s);
    std::string others;
    bool is_one = false;
    world->root().find("expect").value().for_each([&](lab::json_value outcome) {
      const decisions theirs = expected(outcome);
      is_one = is_one || theirs == ours;
      others += "\n  Kueue:" + listed(theirs);
    });
    const bool should_be = otherwise.count(of) == 0;
    CHECK_MESSAGE(is_one == should_be, of, others, "\n  allot:", listed(ours));
    ++compared;
  }
  CHECK(compared == worlds);
}

}  // namespace

TEST_CASE("kueue_conformance: workloads with several pod sets are decided as in Kueue") {
  // In the first, Kueue goes on from where it stopped in the queue's list, with a flavor that the pod set
  // does not accept. In the second, it tries a head that fits in none of its flavors forever.
  compare("pod_sets.jsonl.gz", 2000, {"w00020", "w01396"});
}
