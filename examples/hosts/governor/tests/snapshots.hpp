// SPDX-License-Identifier: BSL-1.0
//
// Snapshots for tests, and names that users should not choose.
#pragma once

#include "governor/src/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace allot_governor::test {

inline std::vector<std::string> hostile_names() {
  return {
      "</style></pre></td><script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "\" onmouseover=\"alert(1)",
      "' onmouseover='alert(1)",
      "&lt;b&gt; &amp; <!-- --> ]]>",
      "a\nallot_acme_quota_used{quota=\"x\",resource=\"gpu\"} 1e9\n# TYPE x counter",
      "a\r\nQuotas: gpu\r\n",
      "back\\slash \\\" \\n \\",
      "{quota=\"a\"} 1",
      "\x1b[2J\x1b]0;title\x07\x08\x7f",
      std::string{"zero\0byte", 9},
      "\xe2\x80\xae"
      "desrever \xe2\x80\xa8 line \xc2\x85 next",
      "\x80 \xff \xc0\xaf \xed\xa0\x80 \xe6\xbc",
      "漢字 naïve 🙂",
      " ",
      "",
      std::string(100'000, 'x'),
      std::string(50'000, '<'),
      std::string(50'001, '\x80'),
  };
}

/// Of no host that there is.
inline constexpr host_words some_words{.key = "acme",
                                       .host = "Acme",
                                       .server = "the acme server",
                                       .server_key = "server",
                                       .client = "libacme",
                                       .comment = "Remark"};

/// 128 GPUs, two teams below a parent, a loan, a reservation, and a job of every phase. `name` is the name of
/// everything that somebody chooses.
inline snapshot sample(const std::string& name, const host_words& words = some_words) {
  using allot::gpus;
  using allot::quantity;
  snapshot s;
  s.words = words;
  s.cluster = name;
  s.policy = "standard";
  s.now = 1'795'468'445'123;
  s.resources = {"gpu", "cpu"};
  const auto quota = [&](std::string called, std::optional<std::size_t> parent, int nominal, int used,
                         int borrowed, int lent) {
    snapshot::quota q;
    q.name = std::move(called);
    q.parent = parent;
    q.nominal = {gpus(nominal), quantity::unlimited()};
    q.entitled = {gpus(nominal), gpus(8 * nominal)};
    q.used = {gpus(used), gpus(8 * used)};
    q.borrowed = {gpus(borrowed), quantity{}};
    q.lent = {gpus(lent), quantity{}};
    q.requested = {gpus(16), quantity::milli(2500)};
    q.share = 0.125;
    q.running = 3;
    q.waiting = 2;
    s.quotas.push_back(q);
  };
  // The parent comes last.
  quota(name + "/a", 2, 48, 60, 12, 0);
  quota(name + "/b", 2, 80, 20, 0, 12);
  quota(name, std::nullopt, 128, 80, 0, 0);
  const std::size_t phases = job_phase_names.size();
  for (std::size_t p = 0; p < phases; ++p) {
    snapshot::job j;
    j.id = std::to_string(100 + p);
    j.name = j.user = j.account = name;
    if (p % 2 == 0) j.quota = p % 3;
    j.phase = static_cast<job_phase>(p);
    j.request = {gpus(8), gpus(64)};
    j.submitted = s.now - 720'000;
    j.started = s.now - 60'000;
    j.ends = s.now + 3'600'000;
    j.nodes = {"n1", "n2"};
    j.reason = name;
    j.restarts = 1;
    if (j.phase == job_phase::waiting) j.latest_start = s.now + 600'000;
    if (j.phase == job_phase::leaving) j.beneficiary = "100";
    s.jobs.push_back(j);
    s.phases[p] = 1;
  }
  s.nodes = {{"n1", "up", 8, {{"104", 0, 4}, {"900", std::nullopt, 2}}, 1},
             {"n2", "down", 8, {}},
             {name, "drained", 8, {{"105", 1, 8}}}};
  s.loans = {{0, 1, 0, gpus(12)}};
  s.reservations = {{"100", 0, {"105"}, s.now + 600'000, s.now + 300'000, name}, {"101", 1, {}, {}, {}, {}}};
  s.since_start.ticks = 7;
  s.since_start.tick_us = 1'000'042;
  s.log = {name, "2026-11-23T21:14:05 release job=104"};
  return s;
}

/// Any bytes.
inline std::string random_text(std::mt19937_64& random) {
  constexpr std::string_view likely = "\"\\\n{}=,<>&' ab";
  std::string text;
  for (std::uint64_t n = random() % 12; n > 0; --n) {
    text += random() % 2 == 0 ? likely[random() % likely.size()] : static_cast<char>(random() % 256);
  }
  return text;
}

}  // namespace allot_governor::test
