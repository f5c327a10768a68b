// SPDX-License-Identifier: BSL-1.0
#include "lab/decide.hpp"

#include "lab/explain.hpp"

#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/presets/catalog.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// One cycle is quick whatever it counts, so it is compiled for the most dimensions only.
constexpr std::size_t n = max_resources;

/// Runs the jobs of a scenario through a scheduler, as a host would, and keeps what it decides. `Policies`
/// are those of a preset; which one it is does not matter beyond that.
template <class Policies>
class decision_maker {
  using scheduler_type = scheduler<sim::workload_view<n>, sim::places, Policies>;
  using job_index = sim::job_index;

 public:
  /// `accounts` are the user's quotas as the preset sees them; in a single queue the scheduler sees one quota
  /// instead, which has everything.
  decision_maker(const scenario& s, workload<n> w, quota_tree<n> accounts, bool single_queue, errors& found)
      : scenario_(s),
        found_(found),
        jobs_(std::move(w)),
        held_(accounts),
        booked_(std::move(accounts)),
        scheduler_(sim::workload_view<n>{jobs_.setup.jobs, single_queue},
                   single_queue ? tree_of_everything() : held_.tree(), std::move(jobs_.setup.where)),
        ids_(jobs_.setup.jobs.size()),
        is_booked_(jobs_.setup.jobs.size()),
        demand_(held_.tree().slots()) {
    const auto& settings = jobs_.setup.settings;
    for (std::size_t i = 0; i < scheduler_.tree().slots(); ++i) {
      scheduler_.configure(quota_id{i}, settings[i]);
    }
    for (const refused_job& r : jobs_.refused) made_.refuse.push_back({r.id, r.quota, "access", r.text});
  }

  [[nodiscard]] std::optional<decision> run(std::size_t rounds) && {
    const std::size_t before = found_.size();
    adopt_running();
    if (found_.size() != before) return std::nullopt;
    submit_pending();
    for (std::size_t round = 1; round <= rounds; ++round) {
      const auto& plan = scheduler_.step(now_++);
      const bool is_quiet = plan.empty();
      if (!is_quiet) made_.rounds = round;
      record(plan);
      if (is_quiet && going_.empty()) break;
      if (round < rounds) let_go();
    }
    explain_waiting();
    close_accounts();
    return std::move(made_);
  }

 private:
  [[nodiscard]] static quota_tree<n> tree_of_everything() {
    std::vector<quota_spec<n>> one(1);
    one.front().name = "cluster";
    one.front().nominal = resources<n>{quantity::unlimited()};
    return quota_tree<n>{std::move(one)};
  }

  [[nodiscard]] const sim::job<n>& job(job_index j) const { return jobs_.setup.jobs[j]; }
  [[nodiscard]] const job_entry* entry(job_index j) const {
    const auto at = jobs_.origins[j].entry;
    return at ? &scenario_.jobs[*at] : nullptr;
  }
  [[nodiscard]] lane lane_of(job_index j) const {
    return job(j).preemptible ? lane::any : Policies{}.not_preemptible;
  }
  [[nodiscard]] const std::string& name_of(quota_id x) const { return scenario_.quotas[x.index()].spec.name; }

  // What runs.

  /// Those whose devices are known first, then those whose nodes are: whoever is put where there is room must
  /// not stand in their way.
  void adopt_running() {
    for (const std::size_t precision : {2U, 1U, 0U}) {
      for (job_index j = 0; j < jobs_.setup.jobs.size(); ++j) {
        const job_entry* e = entry(j);
        if (e == nullptr || e->phase == job_phase::pending || precision_of(*e) != precision) continue;
        adopt(j, *e);
      }
    }
    for (job_index j = 0; j < jobs_.setup.jobs.size(); ++j) {
      now_ = std::max(now_, job(j).submit);
      if (entry(j) != nullptr) now_ = std::max(now_, entry(j)->start);
    }
  }
  [[nodiscard]] static std::size_t precision_of(const job_entry& e) {
    if (e.locations.empty()) return 0;
    const bool has_devices = std::any_of(e.locations.begin(), e.locations.end(),
                                         [](const gpu::pod_location& l) { return l.devices != 0; });
    return has_devices ? 2 : 1;
  }

  void adopt(job_index j, const job_entry& e) {
    const std::string place = "/jobs/" + std::to_string(*jobs_.origins[j].entry);
    if (!held_.tree().contains(job(j).quota)) {
      found_.add(scenario_.file, place + "/quota", "a job can't run in a quota that an event adds later");
      return;
    }
    sim::places& places = scheduler_.places();
    std::optional<gpu::allocation_id> at;
    if (e.locations.empty() || !places.has_nodes()) {
      at = places.place(job(j).demand);
      if (!at)
        found_.add(scenario_.file, place,
                   "the running job has no place: " + explain(places.why_not(job(j).demand)));
    } else {
      at = places.inventory().place_at(job(j).demand, e.locations);
      if (!at) {
        found_.add(scenario_.file, place + (precision_of(e) == 2 ? "/devices" : "/nodes"),
                   "the running job does not fit there (expected GPUs that no other job has)");
      }
    }
    if (!at) return;
    const job_id id = scheduler_.adopt(j, e.start, *at);
    ids_[j] = id;
    hold_share(j);
    demand_[job(j).quota.index()] += job(j).request;
    if (e.phase == job_phase::running) {
      book(j);
    } else {
      scheduler_.evicting(id);
      going_.push_back(j);
    }
  }

  void hold_share(job_index j) { held_.charge(job(j).quota, job(j).request, lane_of(j)); }
  void book(job_index j) {
    booked_.charge(job(j).quota, job(j).request, lane_of(j));
    is_booked_[j] = true;
  }
  void unbook(job_index j) {
    booked_.release(job(j).quota, job(j).request, lane_of(j));
    is_booked_[j] = false;
  }

  // What waits.

  void submit_pending() {
    for (job_index j = 0; j < jobs_.setup.jobs.size(); ++j) {
      if (ids_[j]) continue;
      if (!held_.tree().contains(job(j).quota)) {
        refuse(j, "unknown_quota", name_of(job(j).quota) + " is a quota that an event adds later");
        continue;
      }
      if (scheduler_.refuses(j) == refusal::larger_than_cluster) {
        const gpu::unplaceable why = scheduler_.places().why_not(job(j).demand);
        refuse(j, std::string{gpu::to_string(why.reason)}, explain(why));
        continue;
      }
      ids_[j] = scheduler_.submit(j);
      if (!ids_[j]) {
        refuse(j, "invalid_request", "the request can't be counted");
      } else {
        demand_[job(j).quota.index()] += job(j).request;
      }
    }
  }
  void refuse(job_index j, std::string reason, std::string text) {
    made_.refuse.push_back({jobs_.ids[j], job(j).quota, std::move(reason), std::move(text)});
  }

  // The cycles.

  void record(const typename scheduler_type::plan_type& plan) {
    for (const auto& e : plan.evictions) {
      const auto beneficiary = scheduler_.what(e.beneficiary);
      made_.evict.push_back(
          {jobs_.ids[e.what], job(e.what).quota, pods_of(e.what), jobs_.ids[beneficiary], reason_of(e.how)});
      unbook(e.what);
      going_.push_back(e.what);
    }
    for (const auto& r : plan.reservations) {
      decision::reservation reserved{jobs_.ids[r.what], job(r.what).quota};
      for (std::size_t i = r.first; i < r.first + r.count; ++i) {
        reserved.waits_for.push_back(jobs_.ids[plan.evictions[i].what]);
      }
      for (std::size_t i = 0; r.count == 0 && i < going_.size(); ++i) {
        reserved.waits_for.push_back(jobs_.ids[going_[i]]);
      }
      made_.reserve.push_back(std::move(reserved));
      book(r.what);
    }
    for (const auto& a : plan.admissions) {
      made_.admit.push_back({jobs_.ids[a.what], job(a.what).quota, pods_of(a.what), nodes_of(a.what),
                             job(a.what).request, a.borrows});
      if (!is_booked_[a.what]) book(a.what);
      hold_share(a.what);
    }
    for (const auto& h : plan.holds) unproven_[h.what] = h.reason == hold_reason::not_proven;
  }

  /// Everyone who was told to go has gone.
  void let_go() {
    for (const job_index j : std::exchange(going_, {})) {
      scheduler_.evicted(ids_[j]);
      held_.release(job(j).quota, job(j).request, lane_of(j));
    }
  }

  [[nodiscard]] std::uint64_t pods_of(job_index j) const {
    if (!scheduler_.places().has_nodes()) return job(j).demand.total ? 1 : job(j).demand.pods;
    const auto pods = scheduler_.places().inventory().pods(scheduler_.place_of(ids_[j]));
    return static_cast<std::uint64_t>(std::distance(pods.begin(), pods.end()));
  }
  [[nodiscard]] std::vector<std::string_view> nodes_of(job_index j) const {
    std::vector<std::string_view> nodes;
    if (!scheduler_.places().has_nodes()) return nodes;
    const gpu::inventory& inventory = scheduler_.places().inventory();
    for (const gpu::placed_pod& p : inventory.pods(scheduler_.place_of(ids_[j]))) {
      // The scenario's own, which lives longer than the scheduler's.
      nodes.push_back(scenario_.cluster->name(p.where.node));
    }
    return nodes;
  }
  [[nodiscard]] static std::string_view reason_of(relation how) {
    switch (how) {
      case relation::borrower:
        return "reclaim";
      case relation::descendant:
        return "children";
      case relation::rival:
        return "fair_share";
      case relation::borrower_while_borrowing:
        return "reclaim_while_borrowing";
      case relation::consolidation:
        return "consolidate";
      case relation::resized:
        return "resized";
      case relation::time_limit:
        return "time_limit";
      case relation::same_quota:
        break;
    }
    return "priority";
  }

  // Why the others wait.

  void explain_waiting() {
    for (job_index j = 0; j < jobs_.setup.jobs.size(); ++j) {
      if (!ids_[j] || scheduler_.state(ids_[j]) != job_state::pending) continue;
      const auto h = scheduler_.why(ids_[j]);
      decision::hold hold{jobs_.ids[j], job(j).quota, {}, name_of(job(j).quota)};
      switch (h.reason) {
        case hold_reason::quota:
          explain_binding(hold, *h.binding, j);
          break;
        case hold_reason::placement:
          explain_place(hold, *h.placement, j);
          break;
        default:
          hold.reason = "behind_head";
          hold.text =
              "an earlier job of " + std::string{queue_of(j)} + " does not fit, and no other may pass it";
          break;
      }
      const auto searched = unproven_.find(j);
      if (searched != unproven_.end() && searched->second) hold.reason = "not_proven";
      made_.holds.push_back(std::move(hold));
    }
  }
  [[nodiscard]] std::string_view queue_of(job_index j) const {
    return scheduler_.tree().name(scheduler_.view().quota(j));
  }

  void explain_binding(decision::hold& hold, const shortfall& s, job_index j) const {
    constexpr std::string_view names[] = {"capacity", "borrow_limit", "nominal", "guarantee"};
    const std::size_t d = s.dimension;
    hold.reason = names[static_cast<std::size_t>(s.kind)];
    hold.at = scheduler_.tree().name(s.quota);
    hold.resource = scenario_.resources[d];
    hold.short_by = s.missing;
    const standing now{booked_.supply_of(s.quota, d).borrow, booked_.borrowed(s.quota, d),
                       booked_.total_supply(s.quota, d), booked_.drawn(s.quota, d)};
    hold.text = explain(s, hold.at, *hold.resource, now, hold.id, job(j).request[d]);
  }
  void explain_place(decision::hold& hold, const gpu::unplaceable& why, job_index j) const {
    hold.reason = gpu::to_string(why.reason);
    hold.at = "cluster";
    hold.resource = gpu_resource(j);
    hold.short_by = why.reason == gpu::obstacle::fragmented ? missing_blocks(why, j) : why.asked - why.free;
    hold.text = explain(why);
  }
  /// The GPUs of those of its pods that have no room: free GPUs that are not together do not help.
  [[nodiscard]] quantity missing_blocks(const gpu::unplaceable& why, job_index j) const {
    const gpu::demand& d = job(j).demand;
    const auto pods = gpu::split(d, scenario_.cluster->largest_node(d.pools));
    if (!pods) return why.asked;
    const auto without_room =
        static_cast<std::int64_t>(pods->pods - std::min(pods->pods, why.pods_with_room));
    if (without_room == 0) return quantity::whole(pods->rest);
    return quantity::milli(pods->each.milli) * pods->each.devices * without_room;
  }
  /// Which of the scenario's resources the job's GPUs are.
  [[nodiscard]] std::string_view gpu_resource(job_index j) const {
    for (std::size_t d = 0; d < scenario_.resources.size(); ++d) {
      const std::string_view r = scenario_.resources[d];
      if (job(j).request[d] > quantity{} && (r == "gpu" || r.ends_with("/gpu"))) return r;
    }
    return "gpu";
  }

  // The quotas.

  void close_accounts() {
    division<n> entitlements;
    entitlements.update(held_, demand_);
    const loan_book<n> loans{held_};
    for (std::size_t i = 0; i < scenario_.initial_quotas; ++i) {
      const quota_id x{i};
      decision::account a{x, held_.total_usage(x), entitlements.entitled(x)};
      for (std::size_t d = 0; d < n; ++d) {
        a.borrowed[d] = loans.borrowed(x, d);
        a.lent[d] = loans.lent(x, d);
      }
      a.share = share_of(held_, contender<n>{x}).weighted;
      made_.quotas.push_back(a);
    }
  }

  const scenario& scenario_;
  errors& found_;
  workload<n> jobs_;
  /// What jobs hold, and what decisions count on: the evicted gone, the reserved there.
  ledger<n> held_;
  ledger<n> booked_;
  scheduler_type scheduler_;
  /// By number of the job; none of one that was refused.
  std::vector<job_id> ids_;
  std::vector<bool> is_booked_;
  /// Of the own jobs of each quota, what they use and wait for.
  std::vector<resources<n>> demand_;
  /// Told to go and not gone.
  std::vector<job_index> going_;
  std::map<job_index, bool> unproven_;
  instant now_ = 0;
  decision made_;
};

}  // namespace

std::optional<decision> decide(const scenario& s, std::size_t rounds, errors& found) {
  workload<n> w = make_workload<n>(s);
  std::optional<decision> made;
  with_preset(s.policy.preset, [&](auto p) {
    const auto given = w.setup.quotas.specs();
    std::vector<quota_spec<n>> specs(given.begin(), given.end());
    if (p.ignores_quotas) {
      w.setup.settings = {p.defaults()};
    } else {
      p.adapt(specs);
    }
    decision_maker<typename decltype(p)::policies_type> maker{
        s, std::move(w), quota_tree<n>{std::move(specs)}, p.ignores_quotas, found};
    made = std::move(maker).run(rounds);
  });
  return made;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
