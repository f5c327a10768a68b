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
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace allot;

namespace {

/// What is decided: "p0 starts: 2 acc=fa mem=fa, 1 net=ga", "w3 goes for p0: reclaim". `job` is the one that
/// starts now or once the other has gone.
struct decision {
  std::string line;
  std::string job;
  friend bool operator<(const decision& a, const decision& b) { return a.line < b.line; }
  friend bool operator==(const decision& a, const decision& b) { return a.line == b.line; }
};
using decisions = std::set<decision>;

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
    all.insert({line, std::string{a.id}});
  }
  for (const auto& e : d->evict) {
    const std::string job{e.beneficiary};
    all.insert({std::string{e.id} + " goes for " + job + ": " + std::string{e.reason}, job});
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
    all.insert({line, std::string{a.key()}});
  });
  outcome.find("evict").value().for_each([&](lab::json_value e) {
    const std::string job{e.find("for").value().text()};
    all.insert(
        {std::string{e.key()} + " goes for " + job + ": " + std::string{e.find("reason").value().text()},
         job});
  });
  return all;
}
std::string listed(const decisions& all) {
  std::string text;
  for (const decision& d : all) text += "\n    " + d.line;
  return text.empty() ? "\n    nothing" : text;
}

/// How our decisions and an outcome in Kueue agree, best first.
enum class agreement {
  same,
  /// We decide more for heads that Kueue passed over, and what it decides for them in its next cycle; or not.
  same_a_cycle_later,
  passed_over,
  /// Kueue admitted a job without a node for each of its pods.
  unplaced,
  none
};
agreement agreement_of(const decisions& ours, lab::json_value outcome) {
  const decisions theirs = expected(outcome);
  if (ours == theirs) return agreement::same;
  std::set<std::string> passed_over;
  if (const auto jobs = outcome.find("passed_over"))
    jobs->for_each([&](lab::json_value id) { passed_over.insert(std::string{id.text()}); });
  decisions more;
  std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                      std::inserter(more, more.end()));
  const bool is_more =
      std::includes(ours.begin(), ours.end(), theirs.begin(), theirs.end()) &&
      std::all_of(more.begin(), more.end(), [&](const decision& d) { return passed_over.count(d.job) != 0; });
  if (is_more) {
    const auto next = outcome.find("next");
    const decisions later = next ? expected(*next) : decisions{};
    const bool is_later = std::includes(later.begin(), later.end(), more.begin(), more.end());
    return is_later ? agreement::same_a_cycle_later : agreement::passed_over;
  }
  return outcome.find("unplaced") ? agreement::unplaced : agreement::none;
}

using tally = std::map<agreement, std::size_t>;

/// Compares the worlds of a file, one a line: {"name", "scenario", "expect": [outcomes, any of which will
/// do]}, and counts how they agree. Those in `otherwise`, and no others, are decided otherwise.
void compare(const std::string& name, const tally& worlds, const std::set<std::string>& otherwise) {
  if (!lab::packed_input::unpacks_gzip()) {
    MESSAGE("skipped: built without zlib");
    return;
  }
  lab::packed_input file{
      (std::filesystem::path{__FILE__}.parent_path().parent_path() / "systems/kueue/conformance" / name)
          .string()};
  const auto text = file.read_all();
  REQUIRE_MESSAGE(text, file.problem());
  tally compared;
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
    auto best = agreement::none;
    world->root().find("expect").value().for_each([&](lab::json_value outcome) {
      best = std::min(best, agreement_of(ours, outcome));
      others += "\n  Kueue:" + listed(expected(outcome));
    });
    const bool should_differ = otherwise.count(of) != 0;
    CHECK_MESSAGE((best == agreement::none) == should_differ, of, others, "\n  allot:", listed(ours));
    ++compared[best];
  }
  CHECK(compared == worlds);
}

}  // namespace

TEST_CASE("kueue_conformance: workloads with several pod sets are decided as in Kueue") {
  // In the first, Kueue goes on from where it stopped in the queue's list, with a flavor that the pod set
  // does not accept. In the second, it tries a head that fits in none of its flavors forever.
  compare("pod_sets.jsonl.gz", {{agreement::same, 1998}, {agreement::none, 2}}, {"w00020", "w01396"});
}

TEST_CASE("kueue_conformance: workloads that ask for a topology are decided as in Kueue") {
  // Kueue places the pod sets of a workload one after the other, and does not look back.
  std::set<std::string> otherwise{"w00088", "w00341", "w00601", "w00643"};
  // It takes a domain for a leader and its workers that turns out to be too small.
  otherwise.merge(std::set<std::string>{"w00189", "w00401", "w00770", "w00952"});
  // Both are right, but on other nodes; so another head has room, or none.
  otherwise.merge(std::set<std::string>{"w00283", "w00406"});
  // A head that finds no victims keeps nodes for the cycle.
  otherwise.merge(std::set<std::string>{"w00472"});
  compare("topology.jsonl.gz",
          {{agreement::same, 903},
           {agreement::same_a_cycle_later, 59},
           {agreement::passed_over, 21},
           {agreement::unplaced, 6},
           {agreement::none, otherwise.size()}},
          otherwise);
}
