// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/change_feed.hpp>
#include <allot/scheduler/detail/books.hpp>
#include <allot/scheduler/detail/promises.hpp>
#include <allot/scheduler/detail/reservations.hpp>
#include <allot/scheduler/job_table.hpp>
#include <allot/scheduler/pending_queue.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// The life cycle of a scheduler's jobs: submitted, pending, reserved, running, evicting, gone. Keeps the
/// table, the queues, the books and the reservations consistent with one another, and knows nothing of how
/// the next job is decided on.
///
/// An elastic job is several units: its core, the pods without which it can't run, and one unit for each
/// further pod. A unit is a record like that of any job; elastic pods wait only while the core runs, one at a
/// time, and go with it.
template <job_view View, placement Placement>
class lifecycle {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using record = job_record<View, Placement>;
  using books_type = detail::books<View, Placement>;

  lifecycle(View shown, quota_tree<n> tree, Placement where)
      : view(std::move(shown)), books(std::move(tree), std::move(where)) {
    on_new_tree();
  }
  /// Applies these settings to all quotas that are not configured, existing ones included.
  void treat_all(const queue_settings& settings) {
    defaults_ = settings;
    guarantees_runtime = settings.min_runtime != runtime_guarantee{};
    anyone_preempts = may_preempt(settings.preempt);
    for (quota_state& q : quotas_) q.settings = settings;
  }

  [[nodiscard]] const queue_settings& defaults() const noexcept { return defaults_; }

  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return books.allocated().tree(); }
  [[nodiscard]] record& known(job_id id) {
    ALLOT_ASSERT(jobs.contains(id), "no such job");
    return jobs[id];
  }
  [[nodiscard]] const record& known(job_id id) const {
    ALLOT_ASSERT(jobs.contains(id), "no such job");
    return jobs[id];
  }

  // Queues.

  struct quota_state {
    pending_queue queue;
    queue_settings settings;
    /// What the jobs in the queue request together.
    exact_sum<n> asked;
    /// What those of its jobs request that hold a reservation with a time, and how many there are.
    exact_sum<n> promised_amount;
    std::size_t promised = 0;
    std::size_t waiting = 0;
    std::size_t jobs = 0;
    bool has_inadmissible = false;
    bool touched = false;
  };
  [[nodiscard]] quota_state& of(quota_id x) { return quotas_[x.index()]; }
  [[nodiscard]] const quota_state& of(quota_id x) const { return quotas_[x.index()]; }

  /// The queue or the usage of x has changed: a cycle that orders quotas must reorder it.
  void touch(quota_id x) {
    if (!std::exchange(of(x).touched, true)) touched_.push_back(x);
  }
  /// Calls `visit(quota)` for each quota touched since the last call.
  template <class Visit>
  void take_touched(Visit visit) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      of(touched_[i]).touched = false;
      if (tree().contains(touched_[i])) visit(touched_[i]);
    }
    touched_.clear();
  }

  [[nodiscard]] bool waits(const pending_entry& e) const {
    return jobs[e.id].ticket == e.ticket && jobs[e.id].state == job_state::pending;
  }
  [[nodiscard]] std::optional<job_id> first_of(quota_id x, instant now) {
    quota_state& q = of(x);
    const bool by_estimate =
        q.settings.backfill == backfill_order::shortest_estimate && q.promised >= q.settings.reservations;
    const auto first = q.queue.first([&](const pending_entry& e) { return waits(e); }, now, by_estimate);
    return first ? std::optional{first->id} : std::nullopt;
  }
  /// Calls `visit(request_class)` for each equivalence class of x with a job that may be tried, as in
  /// `pending_queue`.
  template <class Visit>
  void for_each_open_class(quota_id x, Visit visit) const {
    of(x).queue.for_each_open_class([&](class_number number) {
      if (const auto* request_class = classes_.find(number)) visit(*request_class);
    });
  }
  /// The first job of x is inadmissible with those of its equivalence class that would not end by `ends_by`,
  /// or blocks its queue.
  void mark_inadmissible(quota_id x, const std::optional<instant>& ends_by = std::nullopt) {
    quota_state& q = of(x);
    if (q.settings.head == queue_head::strict) {
      q.queue.block_at_first();
    } else if (ends_by) {
      q.queue.mark_inadmissible(*ends_by);
    } else {
      q.queue.mark_inadmissible();
    }
    if (!std::exchange(q.has_inadmissible, true)) with_inadmissible_.push_back(x);
    touch(x);
  }
  /// Returns whether any job was inadmissible.
  bool requeue_inadmissible() {
    must_requeue = false;
    const bool anybody = !with_inadmissible_.empty();
    for (const quota_id x : with_inadmissible_) {
      of(x).has_inadmissible = false;
      of(x).queue.requeue();
      touch(x);
    }
    with_inadmissible_.clear();
    return anybody;
  }
  /// Something has changed that no plan brought about.
  void world_changed() noexcept {
    must_requeue = true;
    ++epoch;
  }

  // Units come and go.

  /// Adds a record, in no queue yet.
  template <class JobOrder>
  [[nodiscard]] job_id enrol(const job& j, quota_id in, const JobOrder& order,
                             capacity_kind not_preemptible) {
    const job_id id = jobs.add();
    record& r = jobs[id];
    read_job(r, view, j, ++submissions_);
    r.facts.quota = in;
    r.facts.id = id;
    r.facts.in = r.preemptible ? capacity_kind::any : not_preemptible;
    const queue_settings& settings = of(r.facts.quota).settings;
    r.rank = {static_cast<std::int64_t>(order(view, j, settings)), r.facts.submitted, r.facts.order};
    r.follows_priority = follows_priority(order, settings);
    number_class(r);
    ++of(r.facts.quota).jobs;
    return id;
  }
  void wait(job_id id) {
    record& r = jobs[id];
    if (!r.menu.empty()) set_pick(r, {});
    charge_by_request(r, view);
    r.state = job_state::pending;
    r.where = {};
    r.promised = false;
    r.kept_promise = {};
    quota_state& q = of(r.facts.quota);
    q.queue.push(r.request_class, {r.rank, id, ++r.ticket, r.estimate});
    queue_changes.note({id, r.ticket, true});
    q.asked += r.facts.request;
    ++q.waiting;
    touch(r.facts.quota);
  }
  /// Takes the job out of its queue, whatever is ahead of it.
  record& leave_queue(job_id id) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::pending, "only a pending job can leave its queue");
    quota_state& q = of(r.facts.quota);
    q.asked -= r.facts.request;
    if (r.promised) {
      break_promise(r);
    } else {
      q.queue.take_out(r.request_class, id);
      queue_changes.note({id, r.ticket, false});
    }
    touch(r.facts.quota);
    return r;
  }
  /// A pending job leaves its queue for a reservation with a time. It is still asked for.
  void promise_start(record& r, const promise& p) {
    quota_state& q = of(r.facts.quota);
    q.queue.take_out(r.request_class, r.facts.id);
    queue_changes.note({r.facts.id, r.ticket, false});
    ++r.ticket;
    r.promised = true;
    q.promised_amount += r.facts.request;
    ++q.promised;
    promised.add({r.facts.id, p});
    touch(r.facts.quota);
  }
  /// The job loses its reservation and is in its queue again.
  void withdraw_promise(record& r) {
    break_promise(r);
    of(r.facts.quota).asked -= r.facts.request;
    --of(r.facts.quota).waiting;
    wait(r.facts.id);
  }
  /// Starts a waiting job, pending or reserved.
  void start(record& r, instant now) {
    quota_state& q = of(r.facts.quota);
    --q.waiting;
    books.start(r, now);
    touch(r.facts.quota);
    grow(r.facts.elastic ? jobs[r.facts.core] : r);
  }
  /// Starts a job that already runs and is in no queue.
  void start_adopted(job_id id, instant since, const place& at, const flavor_pick& pick) {
    record& r = jobs[id];
    r.where = at;
    if (!r.menu.empty()) set_pick(r, pick);
    charge_by_place(r, view, books.places);
    books.book(r);
    ++of(r.facts.quota).waiting;
    start(r, since);
  }
  /// A job that is in no queue waits for evictions already decided, after those that do. Precondition: each
  /// of the victims is evicting, for no other job.
  void reserve_adopted(job_id id, std::span<const job_id> victims, const place& at, const flavor_pick& pick) {
    record& r = jobs[id];
    r.where = at;
    if (!r.menu.empty()) set_pick(r, pick);
    charge_by_place(r, view, books.places);
    books.book(r);
    r.state = job_state::reserved;
    ++of(r.facts.quota).waiting;
    reservations.add(id);
    for (const job_id v : victims) {
      reservations.leaves_for_last(v);
      for (const job_id s : jobs[v].elastic_pods) {
        if (reservations.leaves_for_nobody(s)) reservations.leaves_for_last(s);
      }
    }
    touch(r.facts.quota);
    world_changed();
  }
  /// Whether the job could have more pods than it runs with.
  [[nodiscard]] bool can_grow(const record& core) const {
    return core.pods_to_come > 0 || waiting_elastic_pod(core).has_value();
  }
  /// The request of one more pod of a running job.
  [[nodiscard]] resources<n> request_of_pod(const record& core) const {
    record pod = core;
    read_pod(pod);
    return pod.facts.request;
  }
  /// Adopts a running pod of a running job that can grow.
  [[nodiscard]] job_id adopt_elastic_pod(record& core, instant since, const place& at) {
    drop_waiting_elastic_pods(core);
    const job_id id = next_pod(core);
    start_adopted(id, since, at, core.pick);
    return id;
  }
  /// Evicts a running job with all its elastic pods.
  void withdraw(record& r, job_id beneficiary) {
    ALLOT_ASSERT(r.state == job_state::running, "only a running job can be evicted");
    drop_waiting_elastic_pods(r);
    for (const job_id s : r.elastic_pods) {
      if (jobs[s].state == job_state::running) withdraw(jobs[s], beneficiary);
    }
    books.withdraw(r);
    note_leaving(r, beneficiary);
  }
  /// Notes the eviction of a job that is already evicting in the books.
  void note_leaving(record& r, job_id beneficiary) {
    drop_waiting_elastic_pods(r);
    reservations.expect(r.facts.id, beneficiary);
    leaving.push_back(r.facts.id);
    touch(r.facts.quota);
  }
  /// Removes a running or evicting job that has gone. It is in no queue.
  void give_back(record& r) {
    drop_elastic_pod(r);
    if (r.state == job_state::evicting) {
      reservations.left(r.facts.id);
      std::erase(leaving, r.facts.id);
    }
    news.note_end(r.state == job_state::running ? r.expected_end : without_end);
    books.give_back(r);
    touch(r.facts.quota);
    must_requeue = true;
  }
  /// A job that has gone is pending again, with its old rank; so is one pod of an elastic job that shrinks.
  void requeue(record& r) {
    r.estimate = estimate_of(view, r.what);
    if (!r.facts.elastic) {
      if constexpr (elastic_view<View>) r.pods_to_come = all_pods(view, r.what) - r.facts.pods;
      return wait(r.facts.id);
    }
    record& core = jobs[r.facts.core];
    // Otherwise each of its pods could preempt again.
    core.turns = std::max(core.turns, r.turns);
    ++core.pods_to_come;
    forget(r.facts.id);
    if (core.state == job_state::running) grow(core);
  }
  void give_up_reservation(record& r) {
    reservations.remove(r.facts.id);
    books.unbook(r);
    touch(r.facts.quota);
    must_requeue = true;
  }
  /// Removes a job that the host no longer wants, whatever its state. An elastic job of which one pod is
  /// removed does with fewer.
  void remove(job_id id) {
    record& r = known(id);
    if (r.state != job_state::pending) world_changed();
    const job_id core = r.facts.core;
    take_out(r);
    forget(id);
    if (core && jobs[core].state == job_state::running) grow(jobs[core]);
  }

  /// How many pods of the job run, including its elastic pods.
  [[nodiscard]] std::uint32_t running_pods(const record& r) const {
    std::uint32_t pods = r.facts.pods;
    for (const job_id s : r.elastic_pods) pods += jobs[s].state == job_state::running ? 1U : 0U;
    return pods;
  }

  /// Makes reserved jobs pending again, last first, if there is no longer room for them or their place is no
  /// longer usable.
  void review_reservations() {
    bool lost = false;
    for (std::size_t i = reservations.waiting().size(); i-- > 0;) {
      record& r = jobs[reservations.waiting()[i]];
      if (books.has_room(r) && books.is_usable(r)) continue;
      lost = true;
      give_up_reservation(r);
      --of(r.facts.quota).waiting;
      wait(r.facts.id);
    }
    if (lost) world_changed();
  }

  // The tree.

  /// Replaces the tree; quotas keep their ids. Returns those that are then not sound, parents first.
  /// Precondition: quotas no longer in the tree have no jobs.
  std::vector<quota_id> replace_tree(const quota_tree<n>& next) {
    books.replace_tree(next);
    on_new_tree();
    std::vector<quota_id> over;
    for (const quota_id x : tree().top_down()) {
      if (!books.allocated().is_sound(x)) over.push_back(x);
    }
    return over;
  }

  View view;
  books_type books;
  job_table<record> jobs;
  detail::reservations<View, Placement> reservations;
  /// The pending jobs that hold a reservation with a time.
  detail::promises promised;
  /// The evicting jobs, in the order of their evictions.
  std::vector<job_id> leaving;
  /// Of all queues.
  change_feed<queue_change> queue_changes;
  /// Counts the changes of the world that no plan brought about.
  std::uint64_t epoch = 1;
  /// Whether inadmissible jobs may have better chances now.
  bool must_requeue = false;
  /// What has happened since the promised starts were looked at last.
  promise_news news;
  /// Whether some quota's settings guarantee a runtime, now or before.
  bool guarantees_runtime = false;
  /// Whether some quota's settings let jobs preempt, now or before.
  bool anyone_preempts = false;

 private:
  using classes = request_classes<n, typename Placement::pod_request>;

  void set_pick(record& r, const flavor_pick& pick) {
    r.pick = pick;
    r.facts.request = r.base + r.menu.request(pick);
    r.pod_request = pod_request_of<Placement>(view, r.what, r.facts.pods, pick);
  }
  /// Releases all that is allocated or assumed for the job, and takes it out of its queue.
  void take_out(record& r) {
    quota_state& q = of(r.facts.quota);
    switch (r.state) {
      case job_state::pending:
        if (r.promised) {
          break_promise(r);
          must_requeue = true;
          news.starts_may_move = true;
        } else {
          q.queue.note_stale();
          queue_changes.note({r.facts.id, r.ticket, false});
        }
        q.asked -= r.facts.request;
        --q.waiting;
        break;
      case job_state::reserved:
        --q.waiting;
        give_up_reservation(r);
        break;
      default:
        give_back(r);
    }
  }
  void break_promise(record& r) {
    quota_state& q = of(r.facts.quota);
    r.kept_promise = promised.find(r.facts.id)->what;
    promised.remove(r.facts.id);
    r.promised = false;
    q.promised_amount -= r.facts.request;
    --q.promised;
  }
  void number_class(record& r) {
    r.request_class = classes_.add({r.facts.request, r.menu, r.pod_request, r.facts.in,
                                    r.follows_priority ? classes::any_priority : r.facts.priority});
  }
  void forget(job_id id) {
    record& r = jobs[id];
    const quota_id x = r.facts.quota;
    classes_.remove(r.request_class);
    if (r.facts.elastic) {
      std::erase(jobs[r.facts.core].elastic_pods, id);
    } else {
      --of(x).jobs;
    }
    jobs.remove(id);
    touch(x);
  }

  /// The waiting pod of a running elastic job, if there is one.
  [[nodiscard]] std::optional<job_id> waiting_elastic_pod(const record& core) const {
    for (const job_id s : core.elastic_pods) {
      if (jobs[s].state == job_state::pending || jobs[s].state == job_state::reserved) return s;
    }
    return std::nullopt;
  }
  /// Makes the next pod of a running elastic job pending, unless one waits already.
  void grow(record& core) {
    if (core.pods_to_come > 0 && !waiting_elastic_pod(core)) wait(next_pod(core));
  }
  /// Turns the record of an elastic job into that of one more pod.
  void read_pod(record& r) const {
    const flavor_pick pick = r.pick;
    read_request(r, view, 1);
    r.menu = {};
    if constexpr (flavored_view<View>) {
      r.base += view.flavors(r.what, 1).request(pick);
      r.facts.request = r.base;
      r.pod_request = pod_request_of<Placement>(view, r.what, 1, pick);
    }
  }
  /// Adds a record of one more pod of an elastic job, in no queue yet.
  [[nodiscard]] job_id next_pod(record& core) {
    const job_id id = jobs.add();
    record& r = jobs[id];
    const std::uint32_t ticket = r.ticket;
    r = core;
    r.ticket = ticket;
    r.elastic_pods.clear();
    r.pods_to_come = 0;
    r.expected_end = without_end;
    read_pod(r);
    r.facts.id = id;
    r.facts.elastic = true;
    r.facts.core = core.facts.id;
    r.rank.elastic = true;
    number_class(r);
    core.elastic_pods.push_back(id);
    --core.pods_to_come;
    return id;
  }
  /// Removes an elastic pod, running or waiting, e.g. because its job goes.
  void drop(job_id pod) {
    record& r = jobs[pod];
    take_out(r);
    ++jobs[r.facts.core].pods_to_come;
    forget(pod);
  }
  void drop_elastic_pod(record& core) {
    while (!core.elastic_pods.empty()) drop(core.elastic_pods.back());
  }
  void drop_waiting_elastic_pods(record& core) {
    for (std::size_t i = core.elastic_pods.size(); i-- > 0;) {
      const job_state s = jobs[core.elastic_pods[i]].state;
      if (s == job_state::pending || s == job_state::reserved) drop(core.elastic_pods[i]);
    }
  }
  void on_new_tree() {
    quota_state nothing_said;
    nothing_said.settings = defaults_;
    quotas_.resize(tree().slots(), nothing_said);
    std::erase_if(with_inadmissible_, [&](quota_id x) { return !tree().contains(x); });
    for (const quota_id x : tree().top_down()) touch(x);
    review_reservations();
    news.note(delay_cause::quotas);
    world_changed();
  }

  classes classes_;
  queue_settings defaults_{};
  std::vector<quota_state> quotas_;
  std::vector<quota_id> with_inadmissible_;
  std::vector<quota_id> touched_;
  std::uint64_t submissions_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
