// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/books.hpp>
#include <allot/scheduler/job_table.hpp>
#include <allot/scheduler/pending_queue.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/reservations.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// The whole loop, for hosts that want it: waiting jobs in, plans out.
///
/// The host tells what happens (`submit`, `finished`, `evicted`, …), calls `step` when it likes, acts on the
/// plan and reports back. The library owns no thread, clock or job, and calls nothing but the view, the
/// placement and the policies.
template <job_view View, placement Placement = no_placement, class Policies = policies<>>
class scheduler {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using plan_type = plan<View, Placement>;

  static_assert(detail::are_policies_of<Policies, View>());
  static_assert(std::same_as<Placement, no_placement> || placed_view<View, Placement>,
                "allot: with a placement the view needs demand(job)");

  scheduler(View view, quota_tree<n> tree, Placement places = {}, Policies policies = {})
      : view_(std::move(view)),
        policies_(std::move(policies)),
        books_(std::move(tree), std::move(places)),
        turn_(policies_.quotas),
        search_(policies_.victims, policies_.guard, policies_.search_budget) {
    on_new_tree();
  }

  /// What jobs hold now, those included that were told to go and have not gone.
  [[nodiscard]] const allot::ledger<n>& ledger() const noexcept { return books_.held(); }
  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return books_.held().tree(); }
  [[nodiscard]] const View& view() const noexcept { return view_; }
  /// The placement. The host takes the places of adopted jobs in it and changes its nodes; after a change
  /// that makes room it calls `retry`.
  [[nodiscard]] Placement& places() noexcept { return books_.places; }
  [[nodiscard]] const Placement& places() const noexcept { return books_.places; }

  /// How the jobs of a quota are treated from now on; those already waiting keep their order.
  void configure(quota_id x, const queue_settings& settings) {
    quotas_[x.index()].settings = settings;
    world_changed();
  }
  [[nodiscard]] const queue_settings& settings(quota_id x) const { return quotas_[x.index()].settings; }

  /// Whether the job would be taken.
  [[nodiscard]] refusal refuses(const job& j) const {
    if (!tree().contains(view_.quota(j))) return refusal::unknown_quota;
    if (!is_valid_request(resources<n>{view_.request(j)})) return refusal::invalid_request;
    if (!books_.places.could_ever_fit(detail::demand_of<Placement>(view_, j)))
      return refusal::larger_than_cluster;
    return refusal::none;
  }

  /// A job waits from now on. Returns its id, none when it is refused. O(log pending).
  job_id submit(const job& j) {
    if (refuses(j) != refusal::none) return job_id::none();
    const job_id id = enrol(j);
    wait(id);
    return id;
  }

  /// A job runs that this scheduler did not start: after a restart of the host, say. `at` is the place that
  /// the host has taken for it in `places()`. Returns none when the job is refused.
  [[nodiscard]] job_id adopt(const job& j, instant since, place at = {}) {
    if (!tree().contains(view_.quota(j)) || !is_valid_request(resources<n>{view_.request(j)})) return {};
    const job_id id = enrol(j);
    record& r = jobs_[id];
    r.where = at;
    books_.book(r);
    books_.start(r, since);
    refresh(r.facts.quota);
    return id;
  }
  /// The next step tries every waiting job again.
  void retry() noexcept { world_changed(); }

  /// The job of an admission runs since `at`, if not since the step that admitted it.
  void started(job_id id, instant at) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::running, "only an admitted job can start");
    books_.restart(r, at);
  }
  /// The job has ended by itself. Its id is free again.
  void finished(job_id id) { remove(id); }
  /// The job has gone, because a plan said so or for a reason of the host's own; it waits again, with its old
  /// rank.
  void evicted(job_id id) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::running || r.state == job_state::evicting,
                 "only a running job can go");
    if (r.state == job_state::running) world_changed();
    give_back(r);
    wait(id);
  }
  /// The job is not wanted any more, wherever it is.
  void cancel(job_id id) { remove(id); }
  /// The host itself tells a running job to go: it holds its share until `evicted` or `finished`, and the
  /// decisions no longer count on it.
  void evicting(job_id id) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::running, "only a running job can be told to go");
    books_.withdraw(r);
    reservations_.expect(id);
    world_changed();
    refresh(r.facts.quota);
  }

  /// Changes the quota tree; see `apply` in quota/change.hpp. A quota with jobs, waiting ones included, can't
  /// be removed. Who is reserved where there is no room for it any more waits again.
  result<std::vector<quota_id>> apply(std::span<const quota_change<n>> changes) {
    std::vector<problem> problems;
    for (const quota_change<n>& c : changes) {
      const auto* removal = std::get_if<remove_quota>(&c);
      if (removal == nullptr || !tree().contains(removal->quota)) continue;
      if (quotas_[removal->quota.index()].jobs == 0) continue;
      const std::string name{tree().name(removal->quota)};
      problems.push_back({problem_code::in_use, name, {}, name + " still has jobs"});
    }
    if (!problems.empty()) return problems;
    auto over = books_.apply(changes);
    if (over) on_new_tree();
    return over;
  }

  /// Decides everything that can be decided now. The plan is valid until the next call. With nothing new
  /// since the last call it is empty, in O(1).
  const plan_type& step(instant now) {
    now_ = now;
    ++steps_;
    plan_.clear();
    const auto start = [&](job_id id) { admit(jobs_[id], books_.borrowed_by(books_.held(), jobs_[id])); };
    if (wake_) reservations_.start_ready(books_, jobs_, start);
    do {
      if (wake_) wake_everyone();
      for (quota_id x = turn_.best(tree()); x; x = turn_.best(tree())) consider(x);
    } while (wake_);
    // At last, for what was admitted after a job was held stands in its way as well.
    for (auto& h : plan_.holds) books_.explain(h, jobs_[h.id]);
    return plan_;
  }

  /// Why a waiting job waits, as of now. Precondition: it is pending or reserved.
  [[nodiscard]] typename plan_type::hold why(job_id id) {
    const record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::pending || r.state == job_state::reserved, "the job does not wait");
    typename plan_type::hold h{id, r.what, r.facts.quota, hold_reason::evictions};
    if (r.state == job_state::reserved) return h;
    if (books_.booked().fits(r.facts.quota, r.facts.request, r.facts.in) &&
        books_.could_place(books_.places, r.demand)) {
      h.reason = hold_reason::behind_head;
    } else {
      books_.explain(h, r);
    }
    return h;
  }

  [[nodiscard]] job_state state(job_id id) const {
    return jobs_.contains(id) ? jobs_[id].state : job_state::unknown;
  }
  [[nodiscard]] const job& what(job_id id) const { return jobs_[id].what; }
  /// The place of a running, evicting or reserved job.
  [[nodiscard]] place place_of(job_id id) const { return jobs_[id].where; }
  /// How many jobs of the quota wait, reserved ones included.
  [[nodiscard]] std::size_t waiting(quota_id x) const { return quotas_[x.index()].waiting; }

 private:
  using record = detail::job_record<View, Placement>;

  struct quota_state {
    pending_queue queue;
    queue_settings settings;
    std::size_t waiting = 0;
    std::size_t jobs = 0;
    bool parked = false;
  };

  [[nodiscard]] record& known(job_id id) {
    ALLOT_ASSERT(jobs_.contains(id), "no such job");
    return jobs_[id];
  }

  [[nodiscard]] job_id enrol(const job& j) {
    const job_id id = jobs_.add();
    record& r = jobs_[id];
    detail::read_job(r, view_, j, ++submissions_);
    auto& f = r.facts;
    f.id = id;
    f.in = r.preemptible ? lane::any : policies_.not_preemptible;
    const queue_settings& of_quota = settings(f.quota);
    r.rank = {policies_.jobs(view_, j, of_quota), f.submitted, f.order};
    const bool by_priority = detail::follows_priority(policies_.jobs, of_quota);
    r.shape = shapes_.number(f.request, r.demand, f.in, by_priority ? 0 : f.priority);
    ++quotas_[f.quota.index()].jobs;
    return id;
  }

  void wait(job_id id) {
    record& r = jobs_[id];
    r.state = job_state::pending;
    quota_state& q = quotas_[r.facts.quota.index()];
    q.queue.push(r.shape, {r.rank, id, ++r.ticket});
    ++q.waiting;
    refresh(r.facts.quota);
  }

  void remove(job_id id) {
    record& r = known(id);
    const quota_id x = r.facts.quota;
    quota_state& q = quotas_[x.index()];
    if (r.state == job_state::pending || r.state == job_state::reserved) --q.waiting;
    if (r.state == job_state::pending) {
      q.queue.note_stale();
    } else {
      r.state == job_state::reserved ? give_up_reservation(r) : give_back(r);
      world_changed();
    }
    --q.jobs;
    jobs_.remove(id);
    refresh(x);
  }

  /// Something has happened that no plan brought about.
  void world_changed() noexcept {
    wake_ = true;
    ++epoch_;
  }

  /// A running or evicting job has gone.
  void give_back(record& r) {
    if (r.state == job_state::evicting) reservations_.left(r.facts.id);
    books_.give_back(r);
    wake_ = true;
  }
  void give_up_reservation(record& r) {
    reservations_.remove(r.facts.id);
    books_.unbook(r);
    wake_ = true;
  }

  [[nodiscard]] std::optional<pending_entry> first_of(quota_id x) {
    return quotas_[x.index()].queue.first([&](const pending_entry& e) {
      return jobs_[e.id].ticket == e.ticket && jobs_[e.id].state == job_state::pending;
    });
  }

  /// Shows the tournament the quota's best job and its usage as they are now.
  void refresh(quota_id x) {
    if (const auto first = first_of(x)) {
      turn_.enter(books_.booked(), x, jobs_[first->id].facts.request, first->rank);
    } else {
      turn_.leave(books_.booked(), x);
    }
  }

  void wake_everyone() {
    wake_ = false;
    plan_.holds.clear();
    for (const quota_id x : parked_) {
      quotas_[x.index()].parked = false;
      quotas_[x.index()].queue.wake();
      refresh(x);
    }
    parked_.clear();
  }

  void consider(quota_id x) {
    quota_state& q = quotas_[x.index()];
    const pending_entry entry = *first_of(x);
    record& r = jobs_[entry.id];
    const bool allowed = books_.booked().fits(x, r.facts.request, r.facts.in);
    std::optional<place> at;
    if (allowed) at = books_.places.place(r.demand);
    const std::size_t first_eviction = plan_.evictions.size();
    search_outcome search = search_outcome::impossible;
    if (!at && r.turns.left_in(epoch_)) search = books_.make_room(jobs_, search_, r, q.settings.preempt);
    if (!at && search != search_outcome::found) {
      const bool gave_up = search == search_outcome::not_proven;
      plan_.holds.push_back({entry.id, r.what, x, gave_up ? hold_reason::not_proven : hold_reason::quota});
      q.settings.head == queue_head::strict ? q.queue.block_at_first() : q.queue.park_first();
      if (!q.parked) parked_.push_back(x);
      q.parked = true;
      refresh(x);
      return;
    }
    q.queue.pop_first();
    if (!at) {
      r.turns.take_in(epoch_);
      at = take_cleared_place(r);
    }
    ALLOT_ASSERT(at.has_value(), "the search found that there is a place");
    r.where = *at;
    const resources<n> borrows = books_.borrowed_by(books_.booked(), r);
    books_.book(r);
    const std::size_t victims = plan_.evictions.size() - first_eviction;
    if (victims == 0 && reservations_.may_start(books_, jobs_, r)) {
      admit(r, borrows);
    } else {
      r.state = job_state::reserved;
      reservations_.add(entry.id);
      plan_.reservations.push_back({entry.id, r.what, x, first_eviction, victims});
    }
    refresh(x);
  }

  /// Tells the victims that the search has found to go, and takes the place for which they go. A victim that
  /// this very plan admitted has not started: its admission is taken back, and nobody has to wait for it.
  [[nodiscard]] std::optional<place> take_cleared_place(const record& r) {
    for (const victim<n>& v : search_.victims()) {
      record& gone = jobs_[v.job.id];
      if (gone.admitted_in == steps_) {
        std::erase_if(plan_.admissions, [&](const auto& a) { return a.id == v.job.id; });
        books_.give_back(gone);
        wait(v.job.id);
      } else {
        reservations_.expect(v.job.id, r.facts.id);
        plan_.evictions.push_back({v.job.id, gone.what, v.job.quota, r.facts.id, v.how});
        refresh(v.job.quota);
      }
    }
    // Gangs go whole: what they leave over may be enough for somebody who was passed by.
    wake_ = true;
    return books_.places.place(r.demand);
  }

  void admit(record& r, const resources<n>& borrows) {
    r.admitted_in = steps_;
    --quotas_[r.facts.quota.index()].waiting;
    books_.start(r, now_);
    plan_.admissions.push_back({r.facts.id, r.what, r.facts.quota, r.where, borrows});
  }

  void on_new_tree() {
    quotas_.resize(tree().slots());
    std::erase_if(parked_, [&](quota_id x) { return !tree().contains(x); });
    turn_.reset(tree());
    for (const quota_id x : tree().top_down()) refresh(x);
    give_up_what_does_not_fit();
    world_changed();
  }
  /// The last first.
  void give_up_what_does_not_fit() {
    for (std::size_t i = reservations_.waiting().size(); i-- > 0;) {
      record& r = jobs_[reservations_.waiting()[i]];
      if (books_.has_room(r)) continue;
      give_up_reservation(r);
      --quotas_[r.facts.quota.index()].waiting;
      wait(r.facts.id);
    }
  }

  View view_;
  Policies policies_;
  detail::books<View, Placement> books_;
  tournament<n, typename Policies::quota_order_type> turn_;
  victim_search<n, typename Policies::victim_order_type, typename Policies::guard_type> search_;
  detail::job_table<record> jobs_;
  detail::shape_table<n, typename Placement::demand> shapes_;
  std::vector<quota_state> quotas_;
  std::vector<quota_id> parked_;
  detail::reservations<View, Placement> reservations_;
  plan_type plan_;
  instant now_ = 0;
  std::uint64_t submissions_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t epoch_ = 1;
  bool wake_ = false;
};

}  // namespace v0
}  // namespace allot
