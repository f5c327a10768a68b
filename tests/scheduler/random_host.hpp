// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/gpu/random_cluster.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

template <std::size_t N>
struct law_job {
  std::size_t number = 0;
  allot::quota_id quota;
  allot::resources<N> request{};
  std::int32_t priority = 0;
  bool preemptible = true;
  allot::instant submitted = 0;
};

template <std::size_t N>
struct law_view {
  using job = const law_job<N>*;
  allot::quota_id quota(job j) const { return j->quota; }
  const allot::resources<N>& request(job j) const { return j->request; }
  std::int32_t priority(job j) const { return j->priority; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::instant submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return j->number; }
  allot::gpu::demand demand(job j) const { return {.gpus = j->request[0], .total = true}; }
};

struct host_shape {
  quota_shape quotas{.most_quotas = 8, .deepest = 4, .one_root_in = 15, .one_unlimited_in = 0};
  bool random_settings = true;
  /// Only leaves hold jobs.
  bool leaves_only = false;
  /// One in so many jobs may not be evicted; 0: none.
  std::size_t one_fixed_in = 6;
  std::int64_t largest_job = 6;
};

/// A host whose tree, machines, jobs and events are random. It knows by itself what runs and what goes, does
/// what plans say, and checks each plan against the laws.
template <std::size_t N, class Placement>
class random_host {
 public:
  using scheduler_type = allot::scheduler<law_view<N>, Placement>;
  using plan_type = typename scheduler_type::plan_type;
  using job_ptr = const law_job<N>*;

  /// Two hosts made from the same seed differ in nothing.
  random_host(random_source& random, const host_shape& shape)
      : shape_(shape),
        scheduler_(law_view<N>{}, allot::quota_tree<N>{random_quotas<N>(random, shape.quotas)},
                   machines(random)) {
    for (const allot::quota_id x : scheduler_.tree().top_down()) {
      if (shape.leaves_only && !scheduler_.tree().children(x).empty()) continue;
      quotas_.push_back(x);
    }
    if (!shape.random_settings) return;
    for (const allot::quota_id x : scheduler_.tree().top_down()) {
      scheduler_.configure(x, random_settings(random));
    }
  }

  [[nodiscard]] static allot::queue_settings random_settings(random_source& random) {
    using allot::preempt_reclaim, allot::preempt_within;
    const preempt_within within[] = {preempt_within::never, preempt_within::lower_priority,
                                     preempt_within::lower_or_newer_equal};
    const preempt_reclaim reclaim[] = {preempt_reclaim::never, preempt_reclaim::lower_priority,
                                       preempt_reclaim::any, preempt_reclaim::any};
    return {random.one_in(4) ? allot::queue_order::fifo : allot::queue_order::priority,
            random.one_in(4) ? allot::queue_head::strict : allot::queue_head::best_effort,
            {random.pick(within), random.pick(reclaim), random.one_in(3)}};
  }

  [[nodiscard]] scheduler_type& scheduler() { return scheduler_; }
  [[nodiscard]] const allot::quota_tree<N>& tree() const { return scheduler_.tree(); }

  [[nodiscard]] law_job<N> random_job(random_source& random, allot::instant now) {
    law_job<N> j;
    j.number = jobs_.size();
    j.quota = random.pick(quotas_);
    for (std::size_t d = 0; d < N; ++d) {
      j.request[d] =
          d > 0 && random.one_in(3) ? allot::quantity{} : allot::gpus(random.between(1, shape_.largest_job));
      if (random.one_in(10)) j.request[d] = allot::quantity::milli(random.between(0, 999));
    }
    j.priority = static_cast<std::int32_t>(random.below(3));
    j.preemptible = shape_.one_fixed_in == 0 || !random.one_in(shape_.one_fixed_in);
    j.submitted = now;
    return j;
  }
  /// Makes the job known; `submit` submits it.
  job_ptr add(const law_job<N>& j) {
    jobs_.push_back(j);
    entries_.emplace_back();
    return &jobs_.back();
  }
  void submit(job_ptr j) { entries_[j->number].id = scheduler_.submit(j); }

  [[nodiscard]] allot::job_state state(std::size_t number) const {
    const allot::job_id id = entries_[number].id;
    return id ? scheduler_.state(id) : allot::job_state::unknown;
  }
  [[nodiscard]] allot::job_id id(std::size_t number) const { return entries_[number].id; }
  [[nodiscard]] std::size_t known() const { return jobs_.size(); }
  [[nodiscard]] const law_job<N>& job(std::size_t number) const { return jobs_[number]; }
  [[nodiscard]] std::vector<std::size_t> in_state(allot::job_state s) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (state(i) == s) result.push_back(i);
    }
    return result;
  }

  void finished(std::size_t number) { scheduler_.finished(std::exchange(entries_[number].id, {})); }
  void cancel(std::size_t number) { scheduler_.cancel(std::exchange(entries_[number].id, {})); }
  void evicted(std::size_t number) { scheduler_.evicted(entries_[number].id); }
  void evicting(std::size_t number) { scheduler_.evicting(entries_[number].id); }

  [[nodiscard]] static allot::lane lane_of(const law_job<N>& j) {
    return j.preemptible ? allot::lane::any : allot::lane::guaranteed;
  }
  /// A ledger that holds what the host knows to run and to go; with `coming`, instead what runs and is
  /// reserved.
  [[nodiscard]] allot::ledger<N> ledger_of_host(bool coming) const {
    allot::ledger<N> l{scheduler_.tree()};
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const auto s = state(i);
      if (s == allot::job_state::running ||
          s == (coming ? allot::job_state::reserved : allot::job_state::evicting)) {
        l.charge(jobs_[i].quota, jobs_[i].request, lane_of(jobs_[i]));
      }
    }
    return l;
  }

  /// One cycle, checked.
  const plan_type& step(allot::instant now) {
    const auto running = in_state(allot::job_state::running);
    const auto evicting = in_state(allot::job_state::evicting);
    const bool was_sound = scheduler_.ledger().is_sound();
    const allot::ledger<N> before = ledger_of_host(false);
    CHECK(scheduler_.ledger() == before);
    const plan_type& plan = scheduler_.step(now);
    check_lists(plan, running, evicting);
    // Law 1: what is used is what runs and goes, and no plan spoils a sound ledger.
    CHECK(scheduler_.ledger() == ledger_of_host(false));
    if (was_sound) CHECK(scheduler_.ledger().is_sound());
    for (const auto& a : plan.admissions) {
      if (was_sound) continue;
      const auto room = scheduler_.ledger().headroom(a.quota, lane_of(*a.what));
      for (std::size_t d = 0; d < N; ++d) {
        if (a.what->request[d] > allot::quantity{}) CHECK(room[d] >= allot::quantity{});
      }
    }
    check_places();
    check_need(plan);
    // Who was told to go is waited for, or nobody is reserved.
    if (in_state(allot::job_state::evicting).empty()) {
      CHECK(in_state(allot::job_state::reserved).empty());
    }
    // Waiting jobs are counted by quota.
    for (const allot::quota_id x : scheduler_.tree().top_down()) {
      std::size_t waiting = 0;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const auto s = state(i);
        if (jobs_[i].quota == x && (s == allot::job_state::pending || s == allot::job_state::reserved))
          ++waiting;
      }
      CHECK(scheduler_.waiting(x) == waiting);
    }
    return plan;
  }

 private:
  static Placement machines(random_source& random) {
    if constexpr (std::same_as<Placement, allot::no_placement>) {
      return {};
    } else {
      return allot::gpu::inventory{equal_nodes(random.between(1, 4), random.between(2, 8))};
    }
  }

  void check_lists(const plan_type& plan, const std::vector<std::size_t>& running,
                   const std::vector<std::size_t>& evicting) {
    const auto contains = [](const std::vector<std::size_t>& v, std::size_t n) {
      return std::find(v.begin(), v.end(), n) != v.end();
    };
    std::size_t next = 0;
    for (const auto& r : plan.reservations) {
      CHECK((r.count == 0 || r.first == next));
      for (std::size_t i = r.first; i < r.first + r.count; ++i) {
        // Law 3: no eviction without its beneficiary in the same plan.
        CHECK(plan.evictions[i].beneficiary == r.id);
      }
      next += r.count;
      CHECK(r.id == entries_[r.what->number].id);
    }
    CHECK(next == plan.evictions.size());
    for (const auto& e : plan.evictions) {
      CHECK(contains(running, e.what->number));
      CHECK(e.what->preemptible);
      CHECK(state(e.what->number) == allot::job_state::evicting);
    }
    for (const auto& a : plan.admissions) {
      CHECK_FALSE(contains(running, a.what->number));
      CHECK_FALSE(contains(evicting, a.what->number));
      CHECK(state(a.what->number) == allot::job_state::running);
      CHECK(a.quota == a.what->quota);
    }
    for (const auto& h : plan.holds) {
      CHECK(state(h.what->number) == allot::job_state::pending);
      CHECK((h.binding.has_value() || h.placement.has_value()));
    }
  }

  void check_places() {
    if constexpr (!std::same_as<Placement, allot::no_placement>) {
      allot::quantity used, held;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const auto s = state(i);
        if (s == allot::job_state::unknown || s == allot::job_state::pending) continue;
        const auto at = scheduler_.place_of(entries_[i].id);
        (s == allot::job_state::evicting ? held : used) += jobs_[i].request[0];
        CHECK(scheduler_.places().is_vacating(at) == (s == allot::job_state::evicting));
        // On a device that is shared others may still wait for a part to be left.
        const bool whole = jobs_[i].request[0].in_milli() % 1000 == 0;
        if (s == allot::job_state::running && whole) CHECK(scheduler_.places().ready(at));
      }
      CHECK(scheduler_.places().used() == used);
      CHECK(scheduler_.places().held() == held);
    }
  }

  /// Law 3, where the ledger alone decides and nothing else is decided: with any victim back, and the
  /// beneficiary not there yet, that does not fit. (What others make room for may leave more than they need.)
  void check_need(const plan_type& plan) {
    if constexpr (std::same_as<Placement, allot::no_placement>) {
      if (plan.reservations.size() != 1 || !plan.admissions.empty()) return;
      const law_job<N>& j = *plan.reservations.front().what;
      allot::ledger<N> l = ledger_of_host(true);
      l.release(j.quota, j.request, lane_of(j));
      CHECK(l.fits(j.quota, j.request, lane_of(j)));
      for (const auto& e : plan.evictions) {
        const allot::savepoint s = l.save();
        l.charge(e.quota, e.what->request, lane_of(*e.what));
        CHECK_FALSE(l.fits(j.quota, j.request, lane_of(j)));
        l.rollback(s);
      }
    }
  }

  struct entry {
    allot::job_id id;
  };

  host_shape shape_;
  std::deque<law_job<N>> jobs_;
  std::vector<entry> entries_;
  std::vector<allot::quota_id> quotas_;
  scheduler_type scheduler_;
};

}  // namespace allot_test
