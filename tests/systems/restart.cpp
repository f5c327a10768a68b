// SPDX-License-Identifier: BSL-1.0
// A host that is killed after every call, and goes on from the scheduler's state, decides as one that is not,
// under every preset.
#include <allot/quota/builder.hpp>
#include <allot/scheduler/state_text.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/seeds.hpp"

using allot::any_preset;
using allot::fair_weight;
using allot::gpus;
using allot::job_state;
using allot_test::preset_job;
using allot_test::random_source;

namespace {

using scheduler = allot::scheduler_for<any_preset, allot_test::preset_view>;

std::vector<allot::quota_spec<>> quotas() {
  return {{.name = "all", .nominal = gpus(12), .inclusive = true},
          {.name = "dept", .parent = "all", .nominal = gpus(8), .inclusive = true},
          {.name = "a", .parent = "dept", .nominal = gpus(4), .weight = fair_weight::whole(1)},
          {.name = "b",
           .parent = "dept",
           .nominal = gpus(3),
           .borrow = allot::limit::at_most(gpus(5)),
           .weight = fair_weight::whole(2)},
          {.name = "c", .parent = "all", .nominal = gpus(3), .weight = fair_weight::whole(1)}};
}

/// One of two hosts that get the same events. It knows its jobs only by name.
class host {
 public:
  host(const any_preset& preset, bool is_killed)
      : preset_(preset), is_killed_(is_killed), scheduler_(start()) {}

  void submit(const preset_job* j) { ids_[j] = scheduler_.submit(j); }
  void finished(const preset_job* j) { forget(j, scheduler_.finished(ids_.at(j))); }
  void evicted(const preset_job* j) { static_cast<void>(scheduler_.evicted(ids_.at(j))); }
  void cancel(const preset_job* j) { forget(j, scheduler_.cancel(ids_.at(j))); }
  job_state state(const preset_job* j) const {
    const auto at = ids_.find(j);
    return at == ids_.end() ? job_state::unknown : scheduler_.state(at->second);
  }
  /// Whether it is not ready. Nobody decides anything for it then.
  bool is_early(const preset_job* j) {
    const auto at = ids_.find(j);
    if (at == ids_.end() || !scheduler_.why(at->second).ready_at) return false;
    CHECK(scheduler_.state(at->second) == job_state::pending);
    CHECK_FALSE(scheduler_.announced(at->second));
    return true;
  }
  bool announced(const preset_job* j) const {
    const auto at = ids_.find(j);
    return at != ids_.end() && scheduler_.announced(at->second);
  }
  std::string step(allot::instant now) {
    const auto& plan = scheduler_.step(now);
    std::string told;
    for (const auto& e : plan.evictions) {
      told += " -" + e.what->name + ">" + (e.beneficiary ? scheduler_.what(e.beneficiary)->name : "");
    }
    for (const auto& r : plan.nominations) told += " ~" + r.what->name;
    for (const auto& a : plan.admissions) told += " +" + a.what->name;
    return told;
  }
  std::size_t backoffs() const { return scheduler_.backoffs().size(); }
  /// The state of all jobs.
  std::string states() const {
    std::map<std::string, std::string> all;
    for (const auto& [j, id] : ids_) all[j->name] = to_string(scheduler_.state(id));
    std::string told;
    for (const auto& [name, is] : all) told += ' ' + name + ' ' + is;
    return told;
  }
  /// The process ends and starts again.
  void kill() {
    if (!is_killed_) return;
    const auto state = scheduler_.state();
    const std::string file = to_text(
        state, [](const preset_job* j) { return j->name; }, [](auto) { return std::string{}; });
    const auto read = allot::state_from_text<const preset_job*, allot::no_placement::allocation>(
        file, [this](const std::string& name) { return job_of(name); },
        [](const std::string&) { return std::optional{allot::no_placement::allocation{}}; });
    REQUIRE(read);
    REQUIRE(read.value() == state);
    scheduler_ = start();
    REQUIRE(scheduler_.resume(read.value()));
    REQUIRE(scheduler_.state() == state);
  }

 private:
  std::optional<const preset_job*> job_of(const std::string& name) const {
    for (const auto& [j, id] : ids_) {
      if (j->name == name) return j;
    }
    return std::nullopt;
  }
  scheduler start() const {
    scheduler s = allot::make_scheduler(preset_, allot_test::preset_view{}, quotas()).value();
    if (preset_.ignores_quotas) return s;
    for (const char* name : {"a", "c"}) {
      allot::queue_settings settings = preset_.defaults();
      settings.preempt.within = allot::preempt_within::lower_priority;
      settings.preempt.reclaim = allot::preempt_reclaim::any;
      settings.min_runtime = {.preempt = 2, .reclaim = 4};
      if (*name == 'c') settings.head = allot::queue_head::strict;
      // Only the library's own cycle does it.
      allot::queue_settings backing_off = settings;
      backing_off.borrow_backoff = {.first = 5, .longest = 15};
      backing_off.ready_horizon = 5;
      if (s.configure(s.tree().find(name), backing_off).empty()) continue;
      REQUIRE(s.configure(s.tree().find(name), settings).empty());
    }
    return s;
  }
  void forget(const preset_job* j, allot::refusal answer) {
    if (answer == allot::refusal::none) ids_.erase(j);
  }

  any_preset preset_;
  bool is_killed_;
  scheduler scheduler_;
  std::map<const preset_job*, allot::job_id> ids_;
};

/// How many times jobs were in states that only a few policies have.
struct seen {
  std::size_t evicting = 0;
  std::size_t nominated = 0;
  std::size_t announced = 0;
  std::size_t backoffs = 0;
  std::size_t early = 0;
};

/// A random run of both. Returns the first difference in their decisions, or nothing.
std::string compare(const any_preset& preset, random_source random, seen& of_all) {
  const allot::quota_tree<1> names = allot::build_quota_tree(quotas()).value();
  host kept{preset, false}, killed{preset, true};
  std::deque<preset_job> jobs;
  std::string diary;
  for (int i = 0; i < 60; ++i) {
    const auto both = [&](auto call) { call(kept), call(killed); };
    const preset_job* const j = jobs.empty() ? nullptr : &random.pick(jobs);
    const job_state is = j == nullptr ? job_state::unknown : kept.state(j);
    switch (random.below(8)) {
      case 0:
        if (is == job_state::running) both([&](host& h) { h.finished(j); }), diary += " finished " + j->name;
        break;
      case 1:
      case 2:
        if (is == job_state::evicting) both([&](host& h) { h.evicted(j); }), diary += " evicted " + j->name;
        break;
      case 3:
        if (is != job_state::unknown && random.one_in(3))
          both([&](host& h) { h.cancel(j); }), diary += " cancel " + j->name;
        break;
      default: {
        const std::string_view to = std::vector<std::string_view>{
            "a", "b", "c", "dept"}[random.below(preset.name == "runai" ? 3 : 4)];
        const auto size = static_cast<int>(random.between(1, 6));
        jobs.push_back({"j" + std::to_string(i), names.find(to), size, static_cast<int>(random.below(3)), i,
                        random.between(1, 9), !random.one_in(6),
                        random.one_in(4) ? i + random.between(1, 20) : 0});
        both([&](host& h) { h.submit(&jobs.back()); });
        diary += " submit " + jobs.back().name + ":" + std::string{to} + "*" + std::to_string(size) + "/" +
                 std::to_string(jobs.back().priority);
      }
    }
    // Kueue's jobs may evict one another forever.
    int most = 20;
    for (bool rests = false; !rests && most-- > 0;) {
      killed.kill();
      const std::string one = kept.step(i), other = killed.step(i);
      diary += '\n' + std::to_string(i) + ':' + one;
      if (one != other || kept.states() != killed.states()) {
        return diary + "\nif it was killed:" + other + '\n' + kept.states() + '\n' + killed.states();
      }
      rests = one.empty();
    }
    of_all.backoffs += kept.backoffs();
    for (const preset_job& k : jobs) {
      of_all.evicting += kept.state(&k) == job_state::evicting ? 1U : 0U;
      of_all.nominated += kept.state(&k) == job_state::nominated ? 1U : 0U;
      of_all.announced += kept.announced(&k) ? 1U : 0U;
      of_all.early += kept.is_early(&k) ? 1U : 0U;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("restart: the same decisions as without, under every preset") {
  allot::for_each_preset([](auto p) {
    const any_preset preset = any_preset::find(p.name).value();
    seen of_all;
    allot_test::for_each_seed(100, [&](random_source& random) {
      const std::string difference = compare(preset, random, of_all);
      if (!difference.empty()) FAIL(p.name << ": " << difference);
    });
    if (!allot_test::all_cases_run() || p.ignores_quotas) return;
    INFO(p.name);
    CHECK(of_all.evicting > 500);
    CHECK(of_all.early > 500);
    CHECK((of_all.nominated > 500 || of_all.announced > 500));
    if (std::string_view{p.name} == "standard") CHECK(of_all.backoffs > 500);
  });
}

TEST_CASE("restart: a system whose cycle does not back off refuses such settings") {
  allot::for_each_preset([](auto p) {
    INFO(p.name);
    const any_preset preset = any_preset::find(p.name).value();
    scheduler s = allot::make_scheduler(preset, allot_test::preset_view{}, quotas()).value();
    allot::queue_settings settings = preset.defaults();
    settings.borrow_backoff = {.first = 5, .longest = 15};
    settings.ready_horizon = 5;
    const auto problems = s.configure(s.tree().top_down()[0], settings);
    const std::string_view name = p.name;
    const bool is_own = name.starts_with("kueue") || name == "runai";
    REQUIRE(problems.size() == (is_own ? 2U : 0U));
    if (!is_own) return;
    for (const auto& found : problems) CHECK(found.code == allot::problem_code::contradiction);
    CHECK(problems[0].field == "ready_horizon");
    CHECK(problems[1].field == "borrow_backoff");
  });
}

TEST_CASE("restart: past usage that counts goes on counting") {
  any_preset by_fair_tree{allot::standard{}};
  REQUIRE(
      by_fair_tree.choose({.queue_order = allot::quota_order_name::fair_tree, .half_life = 7, .window = 30}));
  const any_preset by_time{allot::runai{.k = 1000, .half_life = 7, .window = 30}};
  for (const any_preset& preset : {by_time, by_fair_tree}) {
    seen of_all;
    allot_test::for_each_seed(100, [&](random_source& random) {
      const std::string difference = compare(preset, random, of_all);
      if (!difference.empty()) FAIL(preset.name << ": " << difference);
    });
    // Under other settings past usage is not used, which is said.
    scheduler s = allot::make_scheduler(preset, allot_test::preset_view{}, quotas()).value();
    scheduler other =
        allot::make_scheduler(any_preset::find("standard").value(), allot_test::preset_view{}, quotas())
            .value();
    CHECK_FALSE(s.state().memory.of_cycle.past_usage.empty());
    CHECK(other.state().memory.of_cycle.past_usage.empty());
    const auto to_other = other.resume(s.state());
    CHECK_FALSE(to_other.keeps_past_usage);
    CHECK(to_other.refused.empty());
    const auto to_itself = s.resume(other.state());
    CHECK_FALSE(to_itself.keeps_past_usage);
  }
}
