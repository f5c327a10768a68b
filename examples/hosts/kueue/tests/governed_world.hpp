// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/governor.hpp"
#include "governor/src/replay.hpp"
#include "governor/src/status.hpp"
#include "made_up_kueue.hpp"
#include "words.hpp"

#include <allot/lab/quotas_file.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kueue_tests {

/// Three teams with 16, 8 and 8 GPUs, and their governor. On nodes the GPUs of the first two are those of
/// four nodes, and those of the third are elsewhere.
struct world {
  explicit world(std::string policy = {}, std::uint64_t seed = 1, bool observed = false,
                 bool on_nodes = false)
      : kueue(seed), policy_name(std::move(policy)), observes(observed), is_on_nodes(on_nodes) {
    const std::string flavor = on_nodes ? "racks" : "default";
    if (on_nodes) kueue.add_nodes(4);
    kueue.set_queue("a", a_has(), "Hold", true, "Any", flavor);
    kueue.set_queue("b", 8, "Hold", true, "Any", flavor);
    kueue.set_queue("c", 8);
    begin();
  }
  void begin() {
    it.reset();
    host = std::make_unique<allot_kueue::kueue_host>(
        kueue.api, allot_kueue::kueue_host_options{
                       .policy = policy_name.empty() ? std::string{} : '"' + policy_name + '"',
                       .seed = 7,
                       .may_write = [this] { return may_write; }});
    allot_governor::surroundings around;
    around.log = [this](const std::string& line) { log.push_back(line); };
    around.events = [this](const std::string& line) { events << line << '\n'; };
    around.remember = [this](const allot_governor::memory& m) { journal = m; };
    it = std::make_unique<allot_governor::governor>(
        allot_governor::governor_options{.words = allot_kueue::kueue_words,
                                         .observes = observes,
                                         .explanations_per_tick = 50,
                                         .starts_per_tick = 200},
        *host, std::move(around));
  }
  /// As after SIGKILL.
  void restart(bool with_journal) {
    kueue.api.lose_late();
    begin();
    if (with_journal) it->remember(journal);
  }
  void tick(instant by = 500) {
    kueue.advance(by);
    host->step({kueue.api.now, kueue.api.now + clock_off});
    it->tick({kueue.api.now + clock_off, kueue.api.now});
    if (!observes) host->tidy();
    journal = it->remembers();
    check_the_law();
  }
  void ticks(int n) {
    for (int i = 0; i < n; ++i) tick();
  }
  /// As the API has it, not as the governor does.
  void check_the_law() {
    if (!is_lawful) return;
    const std::string of_c = is_on_nodes ? "elsewhere" : "all";
    allot::ledger<1> held{allot::quota_tree<1>{{{.name = "all"},
                                                {.name = "elsewhere"},
                                                {.name = "a", .parent = "all", .nominal = gpus(a_has())},
                                                {.name = "b", .parent = "all", .nominal = gpus(8)},
                                                {.name = "c", .parent = of_c, .nominal = gpus(8)}}}};
    std::string holding;
    for (const auto& [name, t] : kueue.jobs) {
      if (!kueue.holds(name)) continue;
      // Kueue admits others to what victims leave before these have left it.
      if (policy_name.starts_with("kueue") && kueue.is(name, "Evicted")) continue;
      held.charge(held.tree().find(t.queue), gpus(t.gpus));
      holding += name + " " + t.queue + " " + std::to_string(t.gpus) + "; ";
    }
    CAPTURE(holding);
    std::string last;
    for (std::size_t i = log.size() > 12 ? log.size() - 12 : 0; i < log.size(); ++i) last += '\n' + log[i];
    CAPTURE(last);
    CHECK(held.is_sound());
  }
  /// Something goes wrong with the API from now on, or no longer.
  void make_trouble(allot_test::random_source& random) {
    auto& faults = kueue.api.faults;
    const auto maybe = [&](std::size_t once_in) { return random.one_in(2) ? once_in : 0; };
    switch (random.below(5)) {
      case 0:
        faults.lost_request = maybe(6);
        faults.lost_answer = maybe(6);
        faults.late = maybe(6);
        break;
      case 1:
        faults.too_many = maybe(6);
        faults.broken = maybe(6);
        break;
      case 2:
        faults.cut = maybe(5);
        faults.gone = maybe(5);
        faults.malformed = maybe(5);
        break;
      case 3:
        faults.slowest = random.one_in(2) ? random.between(1, 3000) : 0;
        break;
      default:
        kueue.api.compact();
        break;
    }
  }
  /// Nothing goes wrong any more: every Workload ends, once, and the log says why. `look` looks at each
  /// moment.
  template <class Look>
  void end_well(Look look) {
    kueue.api.faults = {};
    const auto is_over = [](const auto& j) { return j.second.ends > 0; };
    for (int i = 0; i < 2000 && !std::all_of(kueue.jobs.begin(), kueue.jobs.end(), is_over); ++i) {
      tick(2000);
      look();
    }
    const std::string status = allot_governor::status_text(it->snapshot_view());
    CAPTURE(status);
    for (const auto& job : kueue.jobs) {
      CAPTURE(job.first);
      CAPTURE(json::serialize(kueue.object(job.first)));
      CHECK(job.second.ends == 1);
    }
    CHECK(kueue.faults == std::vector<std::string>{});
    CHECK(kueue.api.contested == std::set<std::string>{});
    replays();
  }

  [[nodiscard]] std::int64_t a_has() const { return is_on_nodes ? 24 : 16; }
  [[nodiscard]] static allot::resources<1> gpus(std::int64_t n) { return {allot::quantity::whole(n)}; }
  void replays() const {
    std::stringstream in{events.str()};
    const auto r = allot_governor::replay(in, std::nullopt);
    CHECK(r.problem == "");
    for (const std::string& d : r.differences) FAIL_CHECK(d);
  }

  made_up_kueue kueue;
  std::string policy_name;
  std::unique_ptr<allot_kueue::kueue_host> host;
  std::unique_ptr<allot_governor::governor> it;
  std::vector<std::string> log;
  std::stringstream events;
  allot_governor::memory journal;
  instant clock_off = 0;
  bool observes;
  bool is_on_nodes;
  bool is_lawful = true;
  bool may_write = true;
};

}  // namespace kueue_tests
