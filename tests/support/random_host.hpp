// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/node_spec.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/soak_scheduler.hpp"

namespace allot_test {

/// Jobs of all kinds for the quotas of `random_host`: gangs, elastic ones, with flavors, with and without
/// estimates, checkpoints and time limits; some are not ready yet. Of a `soak_view` the first is no job.
inline std::deque<soak_job> random_jobs(random_source& random, std::size_t count) {
  std::deque<soak_job> jobs(1);
  while (jobs.size() <= count) {
    soak_job j;
    j.quota = allot::quota_id{static_cast<std::size_t>(random.between(2, 4))};
    const std::int64_t gpus = random.one_in(5) ? 500 : 1000 * random.between(1, 4);
    if (gpus >= 1000 && random.one_in(3)) j.pods = static_cast<std::uint32_t>(random.between(2, 4));
    const std::int64_t each = j.pods > 1 ? 1000 : gpus;
    j.min_pods = j.pods > 1 && random.one_in(2) ? 1 : j.pods;
    j.pod_request.gpus = allot::quantity::milli(each);
    if (random.one_in(3)) {
      j.flavors.resize(1);
      for (std::size_t d = 0; d < 2; ++d) {
        soak_amounts option;
        option[d] = allot::quantity::milli(each);
        j.flavors.front().push_back(option);
        j.pools.push_back(std::uint64_t{1} << d);
      }
    } else {
      const std::size_t d = random.below(2);
      j.pod[d] = allot::quantity::milli(each);
      j.pod_request.pools = std::uint64_t{1} << d;
    }
    j.priority = random.between(0, 2);
    j.preemptible = !random.one_in(6);
    j.submitted = random.between(900, 1000);
    j.duration = random.one_in(2) ? 0 : random.between(1, 30);
    if (random.one_in(3)) j.checkpoint = random.between(1, 9);
    if (random.one_in(4)) j.time_limit = random.between(5, 60);
    if (random.one_in(3)) j.ready = random.between(1000, 1100);
    jobs.push_back(std::move(j));
  }
  return jobs;
}

/// Two pools of two nodes with four GPUs each.
[[nodiscard]] inline allot::gpu::cluster two_pools() {
  std::vector<allot::gpu::node_spec> specs(2);
  specs[0].name = specs[0].pool = "x";
  specs[1].name = specs[1].pool = "y";
  for (auto& s : specs) {
    s.count = 2;
    s.gpus = 4;
  }
  return allot::gpu::build_cluster(specs).value();
}

/// A host with two teams in a department and a third one, on two kinds of nodes. What it calls depends on
/// random numbers and on what its scheduler says alone: a copy that is given the same numbers does the same,
/// as long as the schedulers decide alike.
template <allot::preset Preset, class Places>
class random_host {
 public:
  using scheduler_type = allot::scheduler_for<Preset, soak_view<2>, Places>;

  /// `jobs` must outlive it, and its copies.
  random_host(const Preset& preset, const std::deque<soak_job>& jobs)
      : jobs_(&jobs),
        it_(allot::make_scheduler(preset, view_of(jobs), quotas(), Places{two_pools()}).value()) {}

  [[nodiscard]] const scheduler_type& scheduler() const { return it_; }
  [[nodiscard]] allot::instant now() const { return now_; }
  /// How many jobs and pods its plans have started and evicted.
  [[nodiscard]] std::size_t starts() const { return starts_; }
  [[nodiscard]] std::size_t evictions() const { return evictions_; }
  /// How often a job was asked about that was not ready.
  [[nodiscard]] std::size_t early() const { return early_; }

  /// The clock was wrong by that span. Precondition: there has been a step.
  void rebase(allot::instant by) {
    now_ += by;
    it_.rebase(now_);
  }
  /// A step, as a call.
  void step() {
    const auto& plan = it_.step(now_);
    tell("step\n");
    starts_ += plan.admissions.size();
    evictions_ += plan.evictions.size();
    for (const auto& e : plan.evictions) {
      tell("  -", e.id.index(), " for ", e.beneficiary.index(), " by ", to_string(e.how), ", ", e.pods, '\n');
    }
    for (const auto& r : plan.nominations) tell("  ~", r.id.index(), ' ', r.count, '\n');
    for (const auto& a : plan.admissions) {
      tell("  +", a.id.index(), " at ", a.where.index(), ", ", a.pods, ' ', int{a.pick[0]}, ", borrows ",
           a.borrows[0].in_milli(), ' ', a.borrows[1].in_milli(), '\n');
      if (a.core) known_.push_back(a.id);
    }
    for (const auto& h : plan.pending) tell("  ?", h.id.index(), ' ', to_string(h.reason), '\n');
  }

  /// Makes one call. Returns all that there is to know of it, and of the scheduler after it; times as seen
  /// from now.
  [[nodiscard]] std::string act(random_source random) {
    told_.clear();
    call(random);
    tell_state(random);
    return told_;
  }

 private:
  using state = allot::job_state;

  [[nodiscard]] static std::vector<allot::quota_spec<2>> quotas() {
    const auto amounts = [](std::int64_t x, std::int64_t y) {
      return soak_amounts{allot::gpus(x), allot::gpus(y)};
    };
    return {{.name = "all", .nominal = amounts(8, 8), .inclusive = true},
            {.name = "dept", .parent = "all", .nominal = amounts(5, 5), .inclusive = true},
            {.name = "a", .parent = "dept", .nominal = amounts(2, 3)},
            {.name = "b", .parent = "dept", .nominal = amounts(3, 2)},
            {.name = "c", .parent = "all", .nominal = amounts(2, 2)}};
  }
  [[nodiscard]] static soak_view<2> view_of(const std::deque<soak_job>& jobs) {
    return {&jobs, soak_amounts{allot::gpus(8), allot::gpus(8)}};
  }
  [[nodiscard]] allot::instant seen_from_now(allot::instant at) const {
    return at == allot::without_end ? at : at - now_;
  }
  template <class... Parts>
  void tell(const Parts&... parts) {
    std::ostringstream line;
    ((line << parts), ...);
    told_ += line.str();
  }
  [[nodiscard]] auto& inventory() {
    if constexpr (requires { it_.places().inventory(); }) {
      return it_.places().inventory();
    } else {
      return it_.places();
    }
  }

  /// A job in one of these states; none if there is none.
  [[nodiscard]] allot::job_id pick(random_source& random, std::initializer_list<state> states) {
    std::vector<allot::job_id> suited;
    for (const allot::job_id id : known_) {
      if (std::find(states.begin(), states.end(), it_.state(id)) != states.end()) suited.push_back(id);
    }
    return suited.empty() ? allot::job_id{} : random.pick(suited);
  }
  void call(random_source& random) {
    const std::size_t n = random.below(100);
    const auto on = [&](const char* what, std::initializer_list<state> states, auto happen) {
      const allot::job_id id = pick(random, states);
      tell(what, ' ', id.index(), ": ", to_string(happen(id)), '\n');
    };
    if (n < 30) return submit();
    if (n < 58) {
      now_ += random.one_in(3) ? 0 : random.between(1, 5);
      return step();
    }
    if (n < 66) {
      return on("finished", {state::running, state::evicting}, [&](auto id) { return it_.finished(id); });
    }
    if (n < 76) return on("evicted", {state::evicting}, [&](auto id) { return it_.evicted(id); });
    if (n < 78) return on("evicting", {state::running}, [&](auto id) { return it_.evicting(id); });
    if (n < 80) {
      return on("cancel", {state::pending, state::nominated}, [&](auto id) { return it_.cancel(id); });
    }
    if (n < 83) {
      return on("started", {state::running},
                [&](auto id) { return it_.started(id, now_ - random.between(0, 9)); });
    }
    if (n < 86) return configure(random);
    if (n < 89) return resize(random);
    if (n < 92) return change_node(random);
    if (n < 95) return adopt(random);
    if (n < 97) return it_.retry();
    if (const auto at = it_.wakes_at()) now_ = std::max(now_, *at);
    step();
  }

  void submit() {
    if (next_ == jobs_->size()) return step();
    enter("submit", it_.submit(static_cast<std::uint32_t>(next_++)));
  }
  void adopt(random_source& random) {
    if (next_ == jobs_->size()) return step();
    const auto j = static_cast<std::uint32_t>(next_++);
    const allot::flavor_pick first{};
    const auto where = it_.take_place((*jobs_)[j].pod_request_of((*jobs_)[j].min_pods, first));
    if (!where) return enter("submit", it_.submit(j));
    if (!it_.places().ready(*where)) {
      it_.release_place(*where);
      return enter("submit", it_.submit(j));
    }
    enter("adopt", it_.adopt(j, now_ - random.between(0, 20), *where, first));
  }
  void enter(const char* how, const allot::submission& s) {
    tell(how, ": ", to_string(s.why_not), ' ', s.id.index(), '.', s.id.generation(), '\n');
    if (s) known_.push_back(s.id);
  }
  void configure(random_source& random) {
    const allot::quota_id x{static_cast<std::size_t>(random.between(2, 4))};
    allot::queue_settings s = it_.settings(x);
    if (random.one_in(2)) s.min_runtime = {random.between(0, 20), random.between(0, 20)};
    if (random.one_in(2)) s.borrow_backoff = {random.between(0, 5), 20};
    if (random.one_in(2)) s.ready_horizon = random.between(0, 30);
    if (random.one_in(2)) s.preempt.within = static_cast<allot::preempt_within>(random.below(3));
    if (random.one_in(2)) s.preempt.reclaim = static_cast<allot::preempt_reclaim>(random.below(3));
    tell("configure ", x.index(), ": ", it_.configure(x, s).size(), " problems\n");
  }
  void resize(random_source& random) {
    allot::resize_quota<2> c{allot::quota_id{static_cast<std::size_t>(random.between(2, 4))}};
    c.nominal = soak_amounts{allot::gpus(random.between(0, 3)), allot::gpus(random.between(0, 3))};
    const auto over = it_.apply(std::vector<allot::quota_change<2>>{c});
    tell("resize: ", (over ? over.value().size() : 100), '\n');
  }
  void change_node(random_source& random) {
    const allot::gpu::node_id node{random.below(4)};
    random.one_in(2) ? it_.nodes().close(node) : it_.nodes().reopen(node);
    it_.retry();
  }

  void tell_state(random_source& random) {
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    std::erase_if(known_, [&](allot::job_id id) { return it_.state(id) == state::unknown; });
    for (const allot::job_id id : known_) {
      const state is = it_.state(id);
      tell(id.index(), ' ', to_string(is));
      if (is == state::running || is == state::evicting) tell(" since ", it_.since(id) - now_);
      if (const auto p = it_.reservation_of(id)) tell(", reserved for ", seen_from_now(p->start));
      tell('\n');
    }
    if (const allot::job_id id = pick(random, {state::pending, state::nominated})) {
      const auto why = it_.why(id);
      tell("why ", id.index(), ": ", to_string(why.reason));
      if (why.ready_at) {
        tell(", ready at ", seen_from_now(*why.ready_at));
        ++early_;
      }
      tell('\n');
    }
    for (const allot::quota_id x : it_.tree().top_down()) {
      for (std::size_t d = 0; d < 2; ++d) {
        tell(it_.ledger().own_usage(x, d).in_milli(), '/', it_.assumed().own_usage(x, d).in_milli());
        if (const auto due = it_.entitled(x)) tell('/', (*due)[d].in_milli());
        tell(' ');
      }
    }
    if (const auto at = it_.wakes_at()) tell("wakes at ", seen_from_now(*at));
    tell('\n');
  }

  const std::deque<soak_job>* jobs_;
  scheduler_type it_;
  std::vector<allot::job_id> known_;
  std::size_t next_ = 1;
  allot::instant now_ = 1000;
  std::string told_;
  std::size_t starts_ = 0;
  std::size_t evictions_ = 0;
  std::size_t early_ = 0;
};

}  // namespace allot_test
