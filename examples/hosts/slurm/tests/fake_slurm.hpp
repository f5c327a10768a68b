// SPDX-License-Identifier: BSL-1.0
//
// A Slurm that is made up: it starts what is released when its nodes have room, loses its temper at random,
// and knows the truth that the tests of the governor compare with.
#pragma once

#include "../src/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace slurm_tests {

using namespace allot_slurm;

class fake_slurm final : public cluster {
 public:
  struct truth {
    job is{};
    std::uint32_t gpus_per_node = 0;
    /// How long it runs once it has started.
    seconds duration = 0;
    std::vector<std::string> pinned{};
    /// What it does when it is warned.
    enum class manner { ignores, fails, completes } when_warned = manner::fails;
    std::optional<seconds> clean_at{};
    /// The node with which its last run failed, whether the governor has released it since, and whether what
    /// is cleaned up there took the run with it that followed.
    std::string failed_on{};
    bool is_sent_again = false;
    bool was_lost = false;
    std::optional<seconds> ends_at{};
    int starts = 0;
    int completions = 0;
    bool was_cancelled = false;
    bool unasked = false;
    /// No node has what it asks for: Slurm holds it instead of starting it.
    bool cant_run = false;
    /// In a reservation of Slurm's on these nodes alone.
    std::vector<std::string> reserved{};
    /// The limit of Slurm's that keeps it from starting, as a reason; empty: none.
    std::string limit{};
    /// Whether it starts before others.
    bool is_first = false;
    /// How often it was requeued by the governor.
    int evictions = 0;
  };

  seconds now = 1'000'000;
  std::map<job_key, truth> jobs;
  std::vector<node> nodes;
  /// GPUs of which it has lost count, by node: it has them used by nobody.
  std::map<std::string, std::uint32_t> lost;
  /// The most GPUs of a QOS at once.
  std::map<std::string, std::uint32_t> gpus_of_qos;
  bool is_away = false;
  /// In thousandths: calls that fail before, or after, they have had their effect.
  std::uint32_t lost_calls = 0;
  std::uint64_t seed = 1;
  std::uint64_t changing_calls = 0;
  std::size_t calls_now = 0;

  void add_nodes(std::uint32_t count, std::uint32_t gpus) {
    for (std::uint32_t i = 1; i <= count; ++i) {
      node n;
      n.name = "n" + std::to_string(i);
      n.gpus = gpus;
      n.cpus = 64;
      n.partitions = {"main"};
      nodes.push_back(n);
    }
  }

  job_key submit(const std::string& account, std::uint32_t on_nodes, std::uint32_t gpus_each,
                 seconds duration, bool may_requeue = true) {
    truth t;
    t.is.key = {++last_id_};
    t.is.record = last_id_;
    t.is.is_held = true;
    t.is.may_requeue = may_requeue;
    t.is.account = account;
    t.is.partition = "main";
    t.is.user = "ana";
    t.is.request.nodes = on_nodes;
    t.is.request.cpus = on_nodes;
    if (gpus_each > 0) t.is.request.tres_per_node = "gres:gpu:" + std::to_string(gpus_each);
    t.is.time_limit = duration * 2;
    t.is.submitted = now;
    t.gpus_per_node = gpus_each;
    t.duration = duration;
    return jobs.emplace(t.is.key, t).first->first;
  }

  /// An array with the id 1000, of jobs with one GPU. All of its tasks share a record, as in Slurm.
  std::vector<job_key> submit_array(const std::string& account, std::uint32_t tasks, seconds duration,
                                    std::uint32_t limit = 0) {
    std::vector<job_key> all;
    for (std::uint32_t task = 0; task < tasks; ++task) {
      auto one = jobs.extract(submit(account, 1, 1, duration));
      one.key() = one.mapped().is.key = {1000, task};
      one.mapped().is.record = 1000;
      one.mapped().is.array_limit = limit;
      all.push_back(one.key());
      jobs.insert(std::move(one));
    }
    return all;
  }

  /// A heterogeneous job of components with so many nodes, and GPUs on each: the keys of these, the leader's
  /// first. It lasts as long as its leader.
  std::vector<job_key> submit_components(const std::string& account,
                                         const std::vector<std::pair<std::uint32_t, std::uint32_t>>& of,
                                         seconds duration) {
    std::vector<job_key> all;
    for (const auto& [on_nodes, gpus_each] : of) {
      auto one = jobs.extract(submit(account, on_nodes, gpus_each, duration));
      const std::uint32_t leader = all.empty() ? one.key().id : all.front().id;
      const auto number = static_cast<std::uint32_t>(all.size());
      one.mapped().is.key = {leader};
      one.mapped().is.component = number;
      one.mapped().is.of_components = static_cast<std::uint32_t>(of.size());
      all.push_back(one.key() = {leader, number});
      jobs.insert(std::move(one));
    }
    return all;
  }
  /// As it is told.
  [[nodiscard]] job whole(const job_key& leader) const {
    std::vector<job> all;
    for (auto at = jobs.find(leader); at != jobs.end() && at->first.id == leader.id; ++at) {
      all.push_back(at->second.is);
    }
    return whole_of(std::move(all));
  }

  [[nodiscard]] std::uint32_t used_on(const std::string& name) const {
    const auto gone = lost.find(name);
    std::uint32_t sum = gone == lost.end() ? 0 : gone->second;
    for (const auto& [k, t] : jobs) {
      for (const node_share& s : t.is.nodes) sum += s.node == name ? s.gpus : 0;
    }
    return sum;
  }
  [[nodiscard]] std::uint32_t used_by(const std::string& account, bool with_unasked = true) const {
    std::uint32_t sum = 0;
    for (const auto& [k, t] : jobs) {
      if (t.is.account != account || (t.unasked && !with_unasked)) continue;
      for (const node_share& s : t.is.nodes) sum += s.gpus;
    }
    return sum;
  }

  /// Time passes: jobs end, nodes become clean, released jobs start.
  void advance(seconds by) {
    now += by;
    for (auto& [k, t] : jobs) {
      if (t.is.state == run_state::running && t.ends_at && *t.ends_at <= now) finish(t, false);
      if (t.is.state == run_state::completing && *t.clean_at <= now) {
        t.is.nodes.clear();
        t.is.state = t.is.is_requeued ? run_state::pending : run_state::ended;
        t.is.is_requeued = false;
      }
    }
    // One that is back does not start jobs at once.
    if (std::exchange(was_away_, is_away) || is_away) return;
    for (const bool first : {true, false}) {
      for (auto& [k, t] : jobs) {
        if (t.is_first == first) start_whole(t);
      }
    }
  }

  /// A node fails: what runs there is requeued, and not held.
  void fail(std::size_t n) {
    nodes[n].is_open = false;
    nodes[n].is_down = true;
    for (auto& [k, t] : jobs) {
      const bool is_there = std::any_of(t.is.nodes.begin(), t.is.nodes.end(),
                                        [&](const node_share& s) { return s.node == nodes[n].name; });
      if (!is_there || t.is.state != run_state::running) continue;
      t.failed_on = nodes[n].name;
      t.is_sent_again = false;
      const auto can = [](const truth& one) { return one.is.may_requeue; };
      if (all_of(t, can)) {
        leave(t, false);
      } else {
        finish(t, true);
      }
    }
  }
  void mend(std::size_t n) {
    if (nodes[n].is_open) return;
    nodes[n].is_open = true;
    nodes[n].is_down = false;
    nodes[n].started = now;
  }
  void cancel(const job_key& k) {
    truth& t = jobs.at(k);
    // Another component than the leader can be cancelled while it runs.
    const bool is_part = t.is.component.value_or(0) > 0;
    if (is_part && t.is.state != run_state::running) return;
    const auto end = [this](truth& one) {
      one.was_cancelled = true;
      if (one.is.state == run_state::running) {
        end_one(one, false);
        --one.completions;
      } else if (one.is.state == run_state::pending) {
        one.is.state = run_state::ended;
      }
      // What is being cleaned up is not requeued after that.
      one.is.is_requeued = false;
    };
    is_part ? end(t) : each(t, end);
  }
  /// Somebody with the right to do so releases it.
  void release_unasked(const job_key& k) {
    each(jobs.at(k), [](truth& t) {
      if (t.is.state != run_state::pending || !t.is.is_held) return;
      t.is.is_held = false;
      t.unasked = true;
    });
  }
  void requeue_unasked(const job_key& k) {
    if (jobs.at(k).is.state == run_state::running && jobs.at(k).is.may_requeue) leave(jobs.at(k), false);
  }
  /// As slurmctld forgets what has ended a while ago.
  void forget_ended() {
    std::erase_if(jobs, [](const auto& j) {
      if (j.second.is.state != run_state::ended) return false;
      return true;
    });
  }

  // The interface.

  [[nodiscard]] outcome poll(cluster_changes& to) override {
    calls_now = 0;
    if (is_away) return {outcome::kind::away, "nobody answers"};
    const std::size_t before = to.jobs.size();
    std::size_t known = 0;
    const auto tell = [&](const job& j) {
      ++known;
      const auto [at, is_new] = told_.try_emplace(j.key);
      if (!is_new && at->second == j) return;
      at->second = j;
      to.jobs.push_back(j);
    };
    for (const auto& [k, t] : jobs) {
      if (!t.is.component) {
        tell(t.is);
      } else if (*t.is.component == 0) {
        tell(whole(k));
      }
    }
    if (told_.size() != known) {
      std::erase_if(told_, [&](const auto& j) {
        const job_key& k = j.first;
        // Or it is told by its leader.
        if (jobs.count(k) != 0 || (k.task == job_key::no_task && jobs.count({k.id, 0}) != 0)) return false;
        to.gone.push_back(k);
        return true;
      });
    }
    for (node& n : nodes) {
      const auto gone = lost.find(n.name);
      n.gpus_used = gone == lost.end() ? 0 : gone->second;
    }
    for (const auto& [k, t] : jobs) {
      if (t.is.state == run_state::completing) continue;
      for (const node_share& s : t.is.nodes) {
        const auto n =
            std::find_if(nodes.begin(), nodes.end(), [&](const node& o) { return o.name == s.node; });
        if (n != nodes.end()) n->gpus_used += s.gpus;
      }
    }
    if (nodes != told_nodes_) to.nodes = told_nodes_ = nodes;
    limits now_limited;
    for (const auto& [name, gpus] : gpus_of_qos) {
      now_limited.resources = {"gres/gpu"};
      now_limited.qualities.push_back({.name = name, .group = {{gpus}, limits::none}});
    }
    if (now_limited != told_limits_) to.limited = told_limits_ = now_limited;
    // slurmctld says when something changed last.
    if (to.nodes || to.jobs.size() > before) to.seen_at = now;
    return {};
  }
  /// A new governor knows nothing yet.
  void start_polling_again() {
    told_.clear();
    told_nodes_.clear();
    told_limits_ = {};
  }
  [[nodiscard]] std::vector<network_switch> topology() override { return {}; }

  [[nodiscard]] outcome release(const job& j, const std::vector<std::string>& on, bool first,
                                const comments& say) override {
    return call(j, [&](truth& t) {
      if (t.is.state != run_state::pending) return false;
      t.is.is_held = false;
      t.is.eligible = now;
      t.pinned = say.required && !say.required->empty() ? on : std::vector<std::string>{};
      t.is_first = first;
      t.unasked = false;
      t.is_sent_again = true;
      t.is.why_pending.clear();
      note(t, say);
      return true;
    });
  }
  [[nodiscard]] outcome hold(const job& j, const comments& say) override {
    return call(j, [&](truth& t) {
      if (t.is.state != run_state::pending) return false;
      t.is.is_held = true;
      note(t, say);
      return true;
    });
  }
  [[nodiscard]] outcome warn(const job& j, int) override {
    return call(j, [&](truth& t) {
      if (t.is.state != run_state::running) return false;
      if (t.is.component.value_or(0) > 0) return true;
      if (t.when_warned != truth::manner::ignores) finish(t, t.when_warned == truth::manner::fails);
      return true;
    });
  }
  [[nodiscard]] outcome requeue(const job& j) override {
    return call(j, [&](truth& t) {
      // Its leader does it for all.
      if (t.is.component.value_or(0) > 0) return true;
      const bool has_failed = t.is.state == run_state::ended && t.is.has_failed && !t.was_cancelled;
      if (t.is.state == run_state::running || has_failed) ++t.evictions;
      if (t.is.state == run_state::running) {
        leave(t, true);
      } else if (has_failed) {
        each(t, [this](truth& one) {
          one.is.state = run_state::pending;
          one.is.has_failed = false;
          one.is.is_held = true;
          one.is.submitted = now;
          ++one.is.restarts;
        });
      } else {
        return false;
      }
      return true;
    });
  }
  [[nodiscard]] outcome comment(const job& j, const comments& say,
                                const std::vector<std::uint32_t>& tasks) override {
    return call(j, [&](truth& t) {
      note(t, say);
      for (const std::uint32_t task : tasks) note(jobs.at({j.key.id, task}), say);
      return true;
    });
  }
  [[nodiscard]] outcome let_go(const job& j, const comments& say) override {
    return call(j, [&](truth& t) {
      if (t.is.state != run_state::pending && !t.is.is_requeued) return false;
      t.is.is_held = false;
      note(t, say);
      return true;
    });
  }

 private:
  template <class Effect>
  [[nodiscard]] outcome call(const job& j, Effect effect) {
    ++changing_calls;
    ++calls_now;
    if (is_away || chance(lost_calls)) return {outcome::kind::away, "nobody answers"};
    // A component is told by its number; the id alone is that of all.
    const auto leader = j.component ? jobs.end() : jobs.find({j.key.id, 0});
    const bool is_whole = leader != jobs.end() && leader->second.is.component;
    const auto at = is_whole ? leader : jobs.find(j.component ? job_key{j.key.id, *j.component} : j.key);
    if (at == jobs.end()) return {outcome::kind::too_late, "no such job"};
    bool is_done = true;
    const auto affect = [&](truth& t) { is_done = effect(t) && is_done; };
    is_whole ? each(at->second, affect) : affect(at->second);
    if (!is_done) return {outcome::kind::too_late, "not in this state"};
    // It has happened, but nobody hears of it.
    if (chance(lost_calls)) return {outcome::kind::away, "timed out"};
    return {};
  }
  [[nodiscard]] bool chance(std::uint32_t thousandths) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return thousandths > 0 && (seed >> 33U) % 1000 < thousandths;
  }
  static void note(truth& t, const comments& say) {
    if (say.admin) t.is.admin_comment = *say.admin;
    if (say.user) t.is.comment = *say.user;
    // As Slurm, which then refuses the whole call.
    REQUIRE((!say.excluded || t.is.state == run_state::pending));
    if (say.excluded) t.is.excluded_nodes = *say.excluded;
    if (!say.required) return;
    t.is.required_nodes = *say.required;
    if (say.required->empty()) t.pinned.clear();
  }

  [[nodiscard]] bool admits(const node& n, const truth& t) const {
    return std::all_of(n.reservations.begin(), n.reservations.end(), [&](const node_reservation& r) {
      return r.name == t.is.reservation ? r.start <= now : r.end <= now || now + t.is.time_limit <= r.start;
    });
  }
  /// Calls `visit` with each component, or with the job itself.
  template <class Visit>
  void each(truth& t, Visit visit) {
    if (!t.is.component) return visit(t);
    const std::uint32_t id = t.is.key.id;
    for (auto at = jobs.find({id, 0}); at != jobs.end() && at->first.id == id; ++at) visit(at->second);
  }
  template <class Test>
  [[nodiscard]] bool all_of(truth& t, Test test) {
    bool all = true;
    each(t, [&](truth& one) { all = all && test(one); });
    return all;
  }
  /// All components, or none.
  void start_whole(truth& t) {
    if (t.is.component.value_or(0) > 0) return;
    const auto waits = [](const truth& one) { return one.is.state == run_state::pending && !one.is.is_held; };
    if (!all_of(t, waits)) return;
    std::map<job_key, truth> before;
    each(t, [&](truth& one) { before.emplace(job_key{one.is.key.id, one.is.component.value_or(0)}, one); });
    each(t, [&](truth& one) { start(one); });
    if (all_of(t, [](const truth& one) { return one.is.state == run_state::running; })) return;
    each(t, [&](truth& one) {
      if (one.is.state != run_state::running) return;
      one = before.at({one.is.key.id, one.is.component.value_or(0)});
    });
  }
  void start(truth& t) {
    if (t.is.eligible > now) return;
    if (t.cant_run) {
      t.is.is_held = true;
      t.is.why_pending = bad_constraints;
      return;
    }
    if (!t.limit.empty()) {
      t.is.why_pending = t.limit;
      return;
    }
    if (const auto most = gpus_of_qos.find(t.is.qos); most != gpus_of_qos.end()) {
      std::uint32_t sum = t.gpus_per_node * t.is.request.nodes;
      for (const auto& [k, o] : jobs) {
        for (const node_share& s : o.is.nodes) sum += o.is.qos == t.is.qos ? s.gpus : 0;
      }
      if (sum > most->second) {
        t.is.why_pending = "QOSGrpGRES";
        return;
      }
    }
    t.is.why_pending = "Resources";
    std::vector<std::string> on = t.pinned;
    if (on.empty() && !t.is.required_nodes.empty()) on = {t.is.required_nodes};
    if (!t.reserved.empty()) {
      // Nodes outside of its reservation it never gets.
      if (!on.empty() && on != t.reserved) return;
      on = t.reserved;
    }
    // The components of a heterogeneous job never share a node.
    std::set<std::string> taken;
    each(t, [&](const truth& one) {
      for (const node_share& s : one.is.nodes) taken.insert(s.node);
    });
    for (const std::string& name : on) {
      if (taken.count(name) != 0) return;
    }
    for (const node& n : nodes) {
      if (!t.pinned.empty() || on.size() == t.is.request.nodes) break;
      if (taken.count(n.name) != 0) continue;
      const bool is_excluded =
          ("," + t.is.excluded_nodes + ",").find("," + n.name + ",") != std::string::npos;
      if (!is_excluded && n.is_open && admits(n, t) && n.gpus - used_on(n.name) >= t.gpus_per_node)
        on.push_back(n.name);
    }
    if (on.size() < t.is.request.nodes) return;
    for (const std::string& name : on) {
      const auto n = std::find_if(nodes.begin(), nodes.end(), [&](const node& o) { return o.name == name; });
      if (n == nodes.end() || !n->is_open || !admits(*n, t) || n->gpus - used_on(name) < t.gpus_per_node)
        return;
    }
    t.is.state = run_state::running;
    t.is.why_pending.clear();
    t.is.started = now;
    // The others last as long as their leader.
    if (t.is.component.value_or(0) == 0) t.ends_at = now + t.duration;
    ++t.starts;
    for (const std::string& name : on) {
      t.is.nodes.push_back({name, t.gpus_per_node, 1});
      const auto n = std::find_if(nodes.begin(), nodes.end(), [&](const node& o) { return o.name == name; });
      t.was_lost =
          t.was_lost || (t.is_sent_again && !t.unasked && name == t.failed_on && now < n->started + 2);
    }
    t.failed_on.clear();
  }
  void finish(truth& t, bool fails) {
    each(t, [&](truth& one) {
      if (one.is.state == run_state::running) end_one(one, fails);
    });
  }
  void end_one(truth& t, bool fails) {
    t.is.state = run_state::completing;
    t.is.has_failed = fails;
    t.is.is_held = false;
    t.ends_at.reset();
    t.clean_at = now + 2 + t.is.component.value_or(0);
    if (!fails) ++t.completions;
  }
  /// It will be pending again when its nodes are clean.
  void leave(truth& t, bool is_held) {
    each(t, [&](truth& one) { leave_one(one, is_held); });
  }
  void leave_one(truth& t, bool is_held) {
    t.is.state = run_state::completing;
    t.is.is_requeued = true;
    t.is.is_held = is_held;
    t.is.submitted = now;
    t.is.eligible = now + 6;
    ++t.is.restarts;
    t.ends_at.reset();
    t.clean_at = now + 2 + t.is.component.value_or(0);
  }

  bool was_away_ = false;
  std::uint32_t last_id_ = 0;
  std::map<job_key, job> told_;
  std::vector<node> told_nodes_;
  limits told_limits_{};
};

}  // namespace slurm_tests
