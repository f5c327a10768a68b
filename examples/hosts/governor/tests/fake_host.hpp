// SPDX-License-Identifier: BSL-1.0
//
// A host that is made up: it starts what it is told to start, loses its temper at random, and knows the truth
// that tests of the governor compare with. It is also the shortest example of a host.
#pragma once

#include "governor/src/governor.hpp"

#include "tests/support/seeds.hpp"

#include <allot/lab/quotas_file.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace governor_tests {

using namespace allot_governor;

class fake_host final : public host {
 public:
  using stage = job_report::stage;

  struct truth {
    std::uint64_t uid = 0;
    std::size_t quota = 0;
    std::uint32_t pods = 1;
    std::uint32_t gpus_each = 1;
    std::uint32_t cpus_each = 0;
    bool is_governed = true;
    std::int64_t priority = 0;
    bool preemptible = true;
    std::int64_t duration_s = 60;
    std::int64_t submitted_s = 0;
    stage at = stage::waiting;
    std::int64_t since_s = 0;
    std::vector<node_share> where{};
    std::uint32_t restarts = 0;
    std::string said{};
    bool is_blocked = false;
    /// It does not run though it was started.
    bool cant_run = false;
    /// The host does not evict it.
    bool cant_stop = false;
    /// In which pools it may run, as bits; and in which it may later, if it may in none now.
    std::uint64_t pools = allot::gpu::all_pools;
    std::optional<std::uint64_t> later_pools{};
    /// Of a task: its array. All tasks of one share the place where a reason is told.
    std::uint32_t array = 0;
    /// It leaves, and nobody has told it to.
    bool keeps_share = false;
    /// It was started, and what kept it from running was not its fault.
    bool is_blameless = false;
    bool was_forced = false;
    int starts = 0;
    int ends = 0;
  };

  std::int64_t now_s = 1'000'000;
  std::map<job_name, truth> jobs;
  std::vector<machine_report> machines;
  /// How many tasks of an array may run at once.
  std::map<std::uint32_t, std::size_t> limits;
  /// What it has to know of a job after a restart.
  std::map<job_name, std::string> words;
  std::optional<governed_quotas> quotas;
  bool is_away = false;
  /// In thousandths: calls whose answer is lost, before or after they have had their effect; calls that are
  /// refused, and calls that come too late.
  std::uint32_t lost_calls = 0;
  std::uint32_t refused_calls = 0;
  allot_test::random_source dice{1};
  /// How long an eviction, and a start, take at most.
  std::int64_t slow_s = 3;
  std::size_t starts = 0;
  std::size_t stops = 0;
  std::size_t explained = 0;
  /// What no governor may do.
  std::vector<std::string> faults;

  job_name submit(std::size_t quota, std::uint32_t pods, std::uint32_t gpus_each, std::int64_t duration_s,
                  job_name name = {}) {
    if (name.empty()) name = "job-" + std::to_string(last_uid_ + 1);
    truth& t = jobs[name] = {};
    t.uid = ++last_uid_;
    t.quota = quota;
    t.pods = pods;
    t.gpus_each = gpus_each;
    t.duration_s = duration_s;
    t.submitted_s = now_s;
    changed_.insert(name);
    return name;
  }
  void add_machines(std::uint32_t count, std::uint32_t gpus) {
    for (std::uint32_t i = 1; i <= count; ++i)
      machines.push_back({.is = {.name = "n" + std::to_string(i), .gpus = gpus}});
    machines_changed_ = true;
  }
  void note_machines() { machines_changed_ = true; }
  void note(const job_name& name) { changed_.insert(name); }
  /// It could not run, and can now.
  void cure(const job_name& name) {
    jobs.at(name).cant_run = false;
    cured_.insert(name);
  }
  [[nodiscard]] std::uint32_t used_on(const std::string& machine) const {
    std::uint32_t sum = 0;
    for (const auto& [name, t] : jobs) {
      for (const node_share& s : t.where) sum += s.node == machine ? s.gpus : 0;
    }
    return sum;
  }
  void remove(const job_name& name) {
    jobs.erase(name);
    gone_.insert(name);
  }
  [[nodiscard]] std::size_t random(std::size_t below) { return dice.below(below); }
  [[nodiscard]] std::uint32_t gpus_of(const truth& t) const { return t.pods * t.gpus_each; }
  [[nodiscard]] static bool has_share(const truth& t) {
    return t.at != stage::waiting && t.at != stage::ended;
  }

  /// Time passes: runs begin and end, evictions are over.
  void advance(std::int64_t seconds = 1) {
    now_s += seconds;
    for (auto& [name, t] : jobs) {
      const std::int64_t lasts = now_s - t.since_s;
      if (t.at == stage::starting && !t.cant_run &&
          lasts >= static_cast<std::int64_t>(random(static_cast<std::size_t>(slow_s) + 1))) {
        enter(name, t, stage::running);
      } else if (t.at == stage::starting && t.cant_run && lasts > 10) {
        enter(name, t, stage::waiting);
      } else if (t.at == stage::running && lasts >= t.duration_s) {
        ++t.ends;
        enter(name, t, stage::ended);
      } else if (t.at == stage::leaving &&
                 lasts >= static_cast<std::int64_t>(random(static_cast<std::size_t>(slow_s) + 1))) {
        ++t.restarts;
        enter(name, t, stage::waiting);
      }
    }
  }
  void enter(const job_name& name, truth& t, stage to) {
    t.at = to;
    t.since_s = now_s;
    if (to == stage::waiting || to == stage::ended) t.where.clear();
    if (to != stage::leaving) t.keeps_share = false;
    changed_.insert(name);
  }

  /// A new governor asks for everything.
  void start_polling_again() {
    for (const auto& [name, t] : jobs) changed_.insert(name);
    gone_.clear();
    phases_.clear();
    machines_changed_ = !machines.empty();
    quotas_told_ = false;
  }

  [[nodiscard]] job_report report(const job_name& name) const {
    const truth& t = jobs.at(name);
    job_report j;
    j.name = name;
    j.uid = std::to_string(t.uid);
    j.at = t.at;
    j.is_governed = t.is_governed;
    facts& f = j.what.emplace();
    f.quota = allot::quota_id{t.quota};
    f.request[0] = allot::quantity::whole(gpus_of(t));
    f.pods.pods = t.pods;
    f.pods.gpus = allot::quantity::whole(t.gpus_each);
    f.pods.cpu_milli = std::int64_t{t.cpus_each} * 1000;
    f.pods.pools = t.pools;
    f.priority = t.priority;
    f.preemptible = t.preemptible;
    f.submitted = t.submitted_s * 1000;
    f.rank = t.uid;
    f.estimate = t.duration_s * 2000;
    j.where = t.where;
    j.started = t.since_s * 1000;
    if (t.is_blocked) j.blocked = "its user holds it";
    if (j.blocked.empty() && is_beyond_limit(name)) j.blocked = "its array runs no more tasks at once";
    if (t.later_pools) {
      j.later = f;
      j.later->pods.pools = *t.later_pools;
      j.why_later = "its machines are kept for others";
    }
    j.keeps_share = t.keeps_share;
    if (t.is_blameless) j.has_failed = false;
    j.was_forced = t.was_forced;
    for (const auto& [other, of] : jobs) {
      const bool is_first = other == name || t.array == 0;
      j.is_told = is_first;
      if (is_first || (of.array == t.array && of.at == stage::waiting)) break;
    }
    j.submitted = t.submitted_s * 1000;
    j.user = "ana";
    j.said = t.said;
    j.restarts = t.restarts;
    return j;
  }

  outcome poll(changes& to) override {
    if (is_away) return {outcome::kind::away, "it does not answer"};
    if (quotas && !std::exchange(quotas_told_, true)) to.quotas = quotas;
    if (std::exchange(machines_changed_, false)) to.machines = machines;
    // Others of their arrays may have gone on.
    for (const auto& [name, t] : jobs) {
      if (t.array != 0 && t.at == stage::waiting) changed_.insert(name);
    }
    for (const job_name& name : std::exchange(changed_, {})) {
      if (jobs.count(name) == 0) continue;
      to.jobs.push_back(report(name));
      // Until the governor says otherwise.
      if (to.jobs.back().at == stage::waiting && to.jobs.back().blocked.empty())
        phases_[name] = job_phase::waiting;
    }
    for (const job_name& name : std::exchange(cured_, {})) to.cured.push_back(name);
    for (const job_name& name : std::exchange(gone_, {})) {
      if (jobs.count(name) == 0) to.gone.push_back(name);
    }
    to.seen_at = now_s * 1000;
    return {};
  }
  void remember(memory& to) const override {
    for (const auto& [name, own] : words) {
      if (jobs.count(name) == 0) continue;
      const job_identity job{name, std::to_string(jobs.at(name).uid)};
      auto at =
          std::find_if(to.backoffs.begin(), to.backoffs.end(), [&](const auto& b) { return b.job == job; });
      if (at == to.backoffs.end()) at = to.backoffs.insert(at, memory::backoff{.job = job});
      at->own = own;
    }
  }
  void recall(const memory& of) override {
    words.clear();
    for (const auto& b : of.backoffs) {
      if (!b.own.empty()) words[b.job.name] = b.own;
    }
  }
  void stands(const job_report& j, std::optional<job_phase> at) override { phases_[j.name] = at; }
  void describe(snapshot& to) const override {
    for (snapshot::job& j : to.jobs) {
      if (jobs.count(j.id) != 0) j.comment = "array " + std::to_string(jobs.at(j.id).array);
    }
  }
  void give(governed_quotas q) {
    quotas = std::move(q);
    quotas_told_ = false;
  }

  void carry_out(std::span<command> all) override {
    std::set<const job_report*> named;
    for (command& c : all) {
      if (!named.insert(c.job).second) faults.push_back("two commands at once for " + c.job->name);
      const bool is_lost = is_away || random(1000) < lost_calls;
      const bool had_effect = !is_away && random(2) == 0;
      if (!is_lost || had_effect) carry_out(c);
      if (is_lost) c.result = {outcome::kind::away, "the answer was lost"};
      if (is_lost) c.after.reset();
      if (is_lost) changed_.insert(c.job->name);
    }
  }

 private:
  void carry_out(command& c) {
    const auto at = jobs.find(c.job->name);
    if (at == jobs.end() || std::to_string(at->second.uid) != c.job->uid) {
      c.result = {outcome::kind::too_late, "it is gone"};
      return;
    }
    auto& [name, t] = *at;
    if (c.is == command::kind::explain) {
      t.said = c.why.for_users;
      ++explained;
      return;
    }
    if (random(1000) < refused_calls || (c.is == command::kind::stop && t.cant_stop)) {
      c.result = {outcome::kind::refused, "not now"};
      return;
    }
    if (c.is == command::kind::force) {
      // It waits for room by itself.
      t.was_forced = t.is_blocked = true;
      c.after = report(name);
      return;
    }
    if (c.is == command::kind::start) {
      // What was reported is what the governor acts on: something else may have happened since then.
      if (t.at != stage::waiting || t.is_blocked) {
        c.result = {outcome::kind::too_late, "it does not wait"};
        return;
      }
      ++starts;
      ++t.starts;
      t.where = c.admission.where;
      enter(name, t, stage::starting);
    } else if (t.at == stage::starting || t.at == stage::running) {
      ++stops;
      enter(name, t, stage::leaving);
    } else {
      c.result = {outcome::kind::too_late, "it does not run"};
      return;
    }
    if (random(2) == 0) c.after = report(name);
  }

  /// Whether as many tasks of its array as may run have their share, or come before it.
  [[nodiscard]] bool is_beyond_limit(const job_name& name) const {
    const truth& t = jobs.at(name);
    const auto limit = limits.find(t.array);
    if (limit == limits.end() || t.at != stage::waiting) return false;
    std::size_t others = 0;
    for (const auto& [other, of] : jobs) {
      const auto at = phases_.find(other);
      const bool is_tried =
          of.at == stage::waiting && at != phases_.end() && at->second == job_phase::waiting;
      if (other != name && of.array == t.array && (has_share(of) || is_tried)) ++others;
    }
    return others >= limit->second;
  }

  std::uint64_t last_uid_ = 0;
  std::set<job_name> changed_;
  std::set<job_name> gone_;
  std::set<job_name> cured_;
  std::map<job_name, std::optional<job_phase>> phases_;
  bool machines_changed_ = false;
  bool quotas_told_ = false;
};

}  // namespace governor_tests
