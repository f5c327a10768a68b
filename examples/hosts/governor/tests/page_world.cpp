// SPDX-License-Identifier: BSL-1.0
// The page of a large and busy cluster, with all that a page may have to show. With ALLOT_PAGE it is left in
// that file, for a browser (tests/hosts/page_browser.sh).
#include "governor/src/config_text.hpp"
#include "governor/src/page.hpp"
#include "governor/src/snapshot_text.hpp"

#include "snapshots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

using namespace allot_governor;

namespace {

constexpr milliseconds second = 1000;
constexpr milliseconds hour = 3600 * second;
constexpr std::size_t departments = 4;
constexpr std::size_t teams = 40;

/// 26 nodes with 8 GPUs, 40 teams in four departments, many jobs of all phases.
struct cluster {
  cluster() {
    s.words = test::some_words;
    s.cluster = "gpu-cluster-frankfurt-2";
    s.policy = "standard, reservations 1";
    s.now = 1'795'468'445'123;
    s.resources = {"gpu", "cpu"};
    add_quotas();
    add_nodes();
    add_jobs();
    s.loans = {{0, 6, 9, allot::gpus(3)}, {0, 10, 12, allot::gpus(1)}};
    s.reservations = {{"10003",
                       8,
                       {"10325", "10326"},
                       s.now + 600 * second,
                       s.now + 300 * second,
                       "a job ran longer than it said"}};
    s.refused_config =
        refused_text({"/etc/allot/allot.json: quotas[17].nominal.gpu: expected an amount that is not "
                      "negative, found -8",
                      "quotas[18]: there is no quota \"departement-2\""},
                     s.now - 240 * second);
    s.log = {"2026-11-23T21:14:05 release job=10311 user=user7 account=team-31 gpus=8",
             "2026-11-23T21:14:06 node node=n3 state=down",
             "2026-11-23T21:14:07 evict job=10325 for=10003 why=\"team-3 takes back what it owns\""};
    live();
  }

  [[nodiscard]] static std::string name_of(std::size_t team) {
    return (team % 5 == 0 ? "research-and-development/foundation-models/pretraining-" : "team-") +
           std::to_string(team);
  }
  void add_quotas() {
    const auto add = [this](std::string name, std::optional<std::size_t> parent) -> snapshot::quota& {
      snapshot::quota& q = s.quotas.emplace_back();
      q.name = std::move(name);
      q.parent = parent;
      q.nominal = q.entitled = q.used = q.borrowed = q.lent = q.requested = amounts_row(s.resources.size());
      return q;
    };
    add("organisation", std::nullopt);
    for (std::size_t d = 0; d < departments; ++d) add("department-" + std::to_string(d), 0);
    for (std::size_t i = 0; i < teams; ++i) {
      snapshot::quota& q = add(name_of(i), 1 + i % departments);
      const int nominal = 2 + static_cast<int>(i % 7);
      q.nominal = {allot::gpus(nominal), allot::quantity::unlimited()};
      // Of every third just what it owns: the marks of both must not coincide.
      q.entitled = {allot::gpus(nominal + static_cast<int>(i % 3) - 1), allot::gpus(64)};
      q.requested = {allot::gpus(static_cast<int>(i % 9))};
      q.running = i % 4;
      q.waiting = i % 11;
      q.share = 0.125;
    }
  }
  void add_nodes() {
    for (std::size_t i = 0; i < 26; ++i) {
      snapshot::node n;
      n.name = "gpu-node-fra2-rack" + std::to_string(i / 8) + "-" + std::to_string(i);
      n.state = i == 3 ? "down" : i == 11 ? "drained" : "up";
      n.gpus = 8;
      if (i == 3) n.why = "Not responding [slurm@2026-11-23T18:02:11]";
      if (i == 11)
        n.why =
            "NVLink errors on GPU 5, replaced by the vendor on Monday; ticket HPC-20417 "
            "[root@2026-11-22T09:12:40]";
      if (n.state == "up") {
        n.used = {{std::to_string(10'266 + i), 5 + (266 + i) % teams, 4}};
        if (i % 5 == 0) n.used.push_back({std::to_string(70 + i), std::nullopt, 1});
      }
      if (i == 20) n.lost_gpus = 2;
      s.nodes.push_back(n);
    }
  }
  void add_jobs() {
    for (std::size_t i = 0; i < 330; ++i) {
      snapshot::job j;
      j.id = i % 4 == 0 ? "team-a/train-llama-" + std::to_string(i) + "-x7f2k" : std::to_string(10'000 + i);
      j.name = i % 3 == 0 ? "llama-70b-continued-pretraining-with-long-context-windows-run-17" : "train";
      j.user =
          i % 6 == 0 ? "maria-magdalena.von-und-zu-hohenstein-sigmaringen" : "user" + std::to_string(i % 23);
      const std::size_t team = i % teams;
      j.quota = 1 + departments + team;
      j.phase = i < 260   ? job_phase::waiting
                : i < 262 ? job_phase::refused
                : i < 264 ? job_phase::not_ready
                : i < 266 ? job_phase::released
                : i < 325 ? job_phase::running
                          : job_phase::leaving;
      j.request = {allot::gpus(1 + static_cast<int>(i % 8))};
      j.submitted = s.now - 720 * second - static_cast<milliseconds>(i) * second;
      j.started = j.since = s.now - 600 * second;
      j.ends = s.now + hour + static_cast<milliseconds>(i) * 60 * second;
      j.nodes = {"gpu-node-fra2-rack0-1", "gpu-node-fra2-rack1-9"};
      j.reason =
          name_of(team) +
          " has 8 gpu, uses 8 and borrows 3, and the 2 gpu that are free are lent: 3 must be released there, "
          "or its nominal raised by 3";
      if (i == 3) {
        j.latest_start = s.now + 600 * second;
        j.reason += start_clause(*j.latest_start);
      }
      if (j.phase == job_phase::released) j.host_reason = "Resources";
      if (j.phase == job_phase::leaving) j.beneficiary = "10003";
      if (i % 17 == 0) j.restarts = 2;
      if (i % 19 == 0) j.preemptible = false;
      ++s.phases[static_cast<std::size_t>(j.phase)];
      s.jobs.push_back(j);
    }
  }

  /// Five hours, with ten minutes in which no governor ran.
  void live() {
    const milliseconds end = s.now;
    for (milliseconds at = end - 5 * hour; at <= end; at += 5 * second) {
      if (at > end - 2 * hour && at < end - 2 * hour + 600 * second) continue;
      s.now = at;
      use(static_cast<std::size_t>((at - end) / (600 * second) + 100));
      s.phases[0] = 40 + static_cast<std::size_t>(at / (300 * second) % 40);
      if (random() % 60 == 0) s.since_start.reclaimed += random() % 4;
      past.add(s);
    }
    s.phases[0] = 260;
  }
  /// Who uses how much goes round among the teams.
  void use(std::size_t turn) {
    for (snapshot::quota& q : s.quotas) q.used = amounts_row(s.resources.size());
    for (std::size_t i = 0; i < teams; ++i) {
      snapshot::quota& q = s.quotas[1 + departments + i];
      const allot::quantity used = allot::gpus(static_cast<int>((i + turn) % 9));
      q.borrowed[0] = std::max(used - q.nominal[0], allot::quantity{});
      q.lent[0] = used < q.nominal[0] ? allot::gpus(1) : allot::quantity{};
      for (std::optional<std::size_t> x = 1 + departments + i; x; x = s.quotas[*x].parent)
        s.quotas[*x].used[0] += used;
    }
  }

  snapshot s{};
  history past{};
  std::mt19937_64 random{5};
};

}  // namespace

TEST_CASE("page: of a large and busy cluster") {
  const cluster c;
  const std::string page = page_of(c.s, 5, c.past);
  for (const std::string part :
       {"<title>gpu-cluster-frankfurt-2: allot-acme</title>",
        "Not in force: the configuration was refused at", "<h2>The last 5.0 h</h2>", "GPUs in use",
        "Waiting jobs", "Evictions", "<b class=\"area q4\"></b>department-3", "jobs without a quota",
        "<span class=state>drained</span>", "ticket HPC-20417", "Waiting (260)", "and 60 more"}) {
    CAPTURE(part);
    CHECK(page.find(part) != std::string::npos);
  }
  // All departments have a colour, and nobody is left over.
  CHECK(page.find("other quotas") == std::string::npos);
  CHECK(page.size() < 500'000);
  if (const char* const path = std::getenv("ALLOT_PAGE"); path != nullptr) {
    std::ofstream out{path, std::ios::binary};
    out << page;
    REQUIRE(out.flush());
  }
}
