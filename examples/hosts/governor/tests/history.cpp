// SPDX-License-Identifier: BSL-1.0
#include "governor/src/history.hpp"

#include "governor/src/state_files.hpp"
#include "snapshots.hpp"
#include "tests/support/scratch_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

using namespace allot_governor;

namespace {

constexpr milliseconds begin = 1'795'468'400'000;

/// Two quotas below one that has jobs of its own; a node that is up, one that is down, a job without a quota.
[[nodiscard]] snapshot at(milliseconds when, int of_a, int of_b, std::uint64_t reclaimed = 0) {
  using allot::gpus;
  snapshot s;
  s.now = begin + when;
  s.resources = {"cpu", "h100/gpu", "a100/gpu"};
  s.quotas.resize(3);
  s.quotas[0].name = "a";
  s.quotas[0].parent = 2;
  s.quotas[0].used = {gpus(999), gpus(of_a), gpus(1)};
  s.quotas[1].name = "b";
  s.quotas[1].parent = 2;
  s.quotas[1].used = {gpus(999), gpus(of_b)};
  s.quotas[2].name = "all";
  s.quotas[2].used = {gpus(1999), gpus(of_a + of_b + 2), gpus(1)};
  s.phases[static_cast<std::size_t>(job_phase::waiting)] = 7;
  s.nodes = {{"n1", "up", 8, {{"900", std::nullopt, 2}}}, {"n2", "down", 8, {}}};
  s.since_start.reclaimed = reclaimed;
  return s;
}

[[nodiscard]] std::int64_t sum_of(const history& h, std::int64_t history::step::*member) {
  return std::accumulate(h.steps().begin(), h.steps().end(), std::int64_t{0},
                         [&](std::int64_t sum, const auto& s) { return sum + s.*member; });
}

}  // namespace

TEST_CASE("history: what a step has of GPUs, who waits and who was evicted") {
  history h;
  h.add(at(0, 4, 0));
  h.add(at(3000, 6, 3, 2));
  h.add(at(6000, 6, 3, 3));
  REQUIRE(h.steps().size() == 2);
  const history::step& s = h.steps()[0];
  CHECK(s.begin == begin);
  CHECK(s.samples == 2);
  CHECK(s.capacity == 2 * 8000);
  CHECK(s.outside == 2 * 2000);
  CHECK(s.waiting == 2 * 7);
  CHECK(s.evictions == 2);
  // Of both kinds of GPU, without what is below it, and without the CPUs.
  CHECK(h.quotas() == std::vector<std::string>{"a", "all", "b"});
  CHECK(s.used == std::map<std::size_t, std::int64_t>{{0, 12'000}, {1, 4000}, {2, 3000}});
  CHECK(h.steps()[1].evictions == 1);
}

TEST_CASE("history: it is bounded, and nothing of the last hours is lost when steps become longer") {
  history h;
  std::uint64_t evicted = 0;
  constexpr milliseconds minute = 60'000;
  const auto run = [&](milliseconds from, milliseconds to) {
    for (milliseconds t = from; t < to; t += 5000) h.add(at(t, 4, 2, ++evicted));
  };
  run(0, 45 * minute);
  CHECK(h.step_length() == history::first_step);
  CHECK(h.steps().size() == history::most_steps);
  run(45 * minute, 46 * minute);
  CHECK(h.step_length() == 2 * history::first_step);
  CHECK(h.steps().front().begin == begin);
  CHECK(sum_of(h, &history::step::samples) == 46 * 12);
  CHECK(sum_of(h, &history::step::evictions) == 46 * 12);
  CHECK(sum_of(h, &history::step::capacity) == 46 * 12 * 8000);
  run(46 * minute, 30 * 60 * minute);
  CHECK(h.step_length() == history::last_step);
  CHECK(h.steps().size() == history::most_steps);
  CHECK(h.steps().back().begin - h.steps().front().begin == (history::most_steps - 1) * history::last_step);
  for (const auto& s : h.steps()) CHECK(s.used.size() == 3);
}

TEST_CASE("history: where nobody knows there is a gap, and clocks may be set back") {
  history h;
  h.add(at(0, 1, 1));
  snapshot away = at(5000, 1, 1);
  away.is_away = true;
  h.add(away);
  h.add(at(10'000, 1, 1, 5));
  REQUIRE(h.steps().size() == 2);
  CHECK(h.steps()[1].begin == begin + 10'000);
  CHECK(h.steps()[1].evictions == 5);
  h.add(at(5000, 1, 1, 5));
  REQUIRE(h.steps().size() == 2);
  CHECK(h.steps()[1].begin == begin + 5000);
  // Of the next governor, which counts from zero.
  h.add(at(20'000, 1, 1, 1));
  CHECK(h.steps().back().evictions == 1);
}

TEST_CASE("history: names of quotas that are no more do not pile up") {
  history h;
  for (int i = 0; i < 3000; ++i) {
    snapshot s = at(history::last_step * i, 4, 2);
    s.quotas[0].name = "quota " + std::to_string(i);
    h.add(s);
  }
  CHECK(h.quotas().size() < 3 * history::most_steps);
  const auto& last = h.steps().back().used;
  REQUIRE(last.size() == 3);
  bool is_named = false;
  for (const auto& u : last)
    is_named = is_named || (h.quotas().at(u.first) == "quota 2999" && u.second == 5000);
  CHECK(is_named);
}

TEST_CASE("history: the next governor goes on from what was written") {
  history h;
  h.add(at(0, 4, 0));
  h.add(at(3000, 6, 3, 2));
  h.add(at(60'000, 6, 3, 3));
  const std::string text = history_text(h, "c");
  auto again = parse_history(text, "c");
  REQUIRE(again);
  CHECK(again->steps() == h.steps());
  CHECK(again->quotas() == h.quotas());
  again->add(at(70'000, 1, 1, 1));
  CHECK(again->steps().back().evictions == 1);
  CHECK(again->quotas() == h.quotas());

  CHECK_FALSE(parse_history(text, "d"));
  for (
      const std::string& damaged :
      {std::string{}, std::string{"[]"}, text.substr(0, text.size() / 2),
       std::string{R"({"format":"allot-history/2"})"},
       std::string{R"({"format":"allot-history/1","cluster":"c","step_ms":0,"quotas":[],"steps":[]})"},
       std::string{
           R"({"format":"allot-history/1","cluster":"c","step_ms":5000,"quotas":[],"steps":[[1,1,1,1,1,1,0,5]]})"},
       std::string{
           R"({"format":"allot-history/1","cluster":"c","step_ms":5000,"quotas":[],"steps":[[5,1,1,1,1,1],[5,1,1,1,1,1]]})"},
       std::string{
           R"({"format":"allot-history/1","cluster":"c","step_ms":5000,"quotas":[],"steps":[[1,1,1]]})"}}) {
    CAPTURE(damaged);
    CHECK_FALSE(parse_history(damaged, "c"));
  }
  for (const std::string& name : test::hostile_names()) {
    history odd;
    odd.add(test::sample(name));
    CHECK(parse_history(history_text(odd, name), name));
  }
}

TEST_CASE("history: it is on the page again after a restart") {
  const allot_test::scratch_directory in_scratch;
  const std::string page = in_scratch.path + "/page.html";
  const auto shown = [&](milliseconds when, bool observes = false, std::string cluster = "c") {
    state_files files{in_scratch.path};
    snapshot s = at(when, 4, 2);
    s.cluster = std::move(cluster);
    s.observes = observes;
    files.show(s, page, {});
    std::ifstream in{page};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  // One that only observes speaks for nobody.
  CHECK(shown(0, true).empty());
  CHECK_FALSE(std::filesystem::exists(in_scratch.path + "/history.json"));
  CHECK(shown(0).find("<h2>The last") == std::string::npos);
  CHECK(shown(60'000).find("<h2>The last 65 s</h2>") != std::string::npos);
  CHECK(shown(180'000).find("<h2>The last 3 min</h2>") != std::string::npos);
  CHECK(shown(240'000, false, "another").find("<h2>The last") == std::string::npos);
}
