// SPDX-License-Identifier: BSL-1.0
// Other jobs that would have to be evicted, or not be ahead in the queue, to admit a job.
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>

#include "lab/decide/explain_remedies.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

void remedy_finder::evict() {
  const auto& policy = now_.scheduler();
  vector<candidate> all;
  for (job_index j = 0; j < now_.ids().size(); ++j) {
    const job_id id = now_.id_of(j);
    const job_entry* e = now_.entry(j);
    if (!id || policy.state(id) != job_state::running || e == nullptr || e->phase != job_phase::running)
      continue;
    candidate c{j, {id}};
    for (const job_id unit : policy.elastic_pods_of(id)) {
      if (policy.state(unit) == job_state::running) c.units.push_back(unit);
    }
    all.push_back(std::move(c));
  }
  const auto rank = [&](const candidate& c) {
    const sim::job<n>& job = now_.job(c.job);
    return std::tuple{!job.preemptible, job.priority, -now_.entry(c.job)->start, -job.submit, c.job};
  };
  std::sort(all.begin(), all.end(),
            [&](const candidate& a, const candidate& b) { return rank(a) < rank(b); });

  ledger<n> assumed = policy.assumed();
  // A copy, in which what is tried need not be taken back.
  sim::places places = policy.places();
  const auto fits = [&] {
    if (!assumed.fits(quota_, request_, now_.capacity_of(job_))) return false;
    const savepoint nested = places.save();
    const bool has_place = places.place(demand_).has_value();
    places.rollback(nested);
    return has_place;
  };
  const auto release = [&](ledger<n>& l, const candidate& c) {
    for (const job_id u : c.units) {
      l.release(policy.view().quota(c.job), policy.request(u), now_.capacity_of(c.job));
    }
  };
  const auto take_off = [&](const candidate& c) {
    release(assumed, c);
    for (const job_id u : c.units) places.vacate(policy.place_of(u));
  };
  const auto put_back = [&](const candidate& c) {
    for (const job_id u : c.units) {
      assumed.charge(policy.view().quota(c.job), policy.request(u), now_.capacity_of(c.job));
      places.reoccupy(policy.place_of(u));
    }
  };
  vector<candidate> gone;
  bool found = false;
  for (std::size_t i = 0; i < all.size() && !found; ++i) {
    take_off(all[i]);
    gone.push_back(all[i]);
    found = fits();
  }
  for (std::size_t i = gone.size(); found && i-- > 0;) {
    put_back(gone[i]);
    if (fits()) {
      gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      take_off(gone[i]);
    }
  }
  if (!found || gone.empty()) return;

  remedy r{"evict", {}};
  scenario changed = s_;
  vector<std::string> reasons;
  // A quota may borrow enough for one of them and not for all.
  ledger<n> left = policy.assumed();
  for (const candidate& c : gone) {
    r.jobs.emplace_back(now_.ids()[c.job]);
    erase_if(changed.jobs, [&](const job_entry& j) { return j.id == now_.ids()[c.job]; });
    std::string reason = why_not(c.job, left);
    if (!reason.empty()) reasons.push_back(r.jobs.back() + ' ' + reason);
    release(left, c);
  }
  r.text = fmt::format("{} were not there", listed_plainly(r.jobs));
  propose(std::move(r), changed);
  remedy& told = found_.back();
  for (const std::string& reason : reasons) {
    told.remark.append(told.remark.empty() ? "" : "; ").append(reason);
  }
}

std::string remedy_finder::why_not(job_index victim, const ledger<n>& assumed) const {
  const auto& policy = now_.scheduler();
  const sim::job<n>& v = now_.job(victim);
  const sim::job<n>& b = now_.job(job_);
  const quota_id of_victim = policy.view().quota(victim);
  if (!v.preemptible) return "can't be preempted";
  const preempt_settings& may = policy.settings(quota_).preempt;
  if (of_victim == quota_) {
    if (may.within == preempt_within::never) return "is of the same quota, which lets no job evict another";
    return v.priority >= b.priority ? "has no lower priority" : "";
  }
  for (quota_id a = quota_; a; a = assumed.tree().parent(a)) {
    if (a == of_victim) return "is of a quota above its own";
  }
  const bool is_below = assumed.tree().common_ancestor(of_victim, quota_) == quota_;
  if (is_below && may.children) return "";
  // Its quota borrows if no quota below those above both owns what it uses.
  const quota_tree<n>& tree = assumed.tree();
  const quota_id top = tree.common_ancestor(of_victim, quota_);
  std::array<bool, n> contested{};
  for (std::size_t d = 0; d < n; ++d) {
    contested[d] =
        request_[d] > quantity{} && v.request[d] + policy.request(now_.id_of(victim))[d] > quantity{};
  }
  for (quota_id owner = of_victim; owner != top; owner = tree.parent(owner)) {
    if (reclaimable_dimensions(assumed, of_victim, tree.parent(owner), contested) == std::array<bool, n>{}) {
      return fmt::format("uses only what {} owns", tree.name(owner));
    }
  }
  if (may.reclaim == preempt_reclaim::never) return "is of another quota, and its own takes nothing back";
  if (may.reclaim == preempt_reclaim::lower_priority && v.priority >= b.priority)
    return "has no lower priority";
  for (std::size_t d = 0; d < n; ++d) {
    if (request_[d] > std::max(quantity{}, assumed.balance(quota_, d))) {
      return fmt::format("borrows, but {} would borrow too", policy.tree().name(quota_));
    }
  }
  return "";
}

void remedy_finder::cancel_those_before() {
  const auto& policy = now_.scheduler();
  if (policy.settings(quota_).head != queue_head::strict) return;
  remedy r{"cancel", {}};
  scenario changed = s_;
  for (job_index j = 0; j < job_; ++j) {
    const job_id id = now_.id_of(j);
    const job_entry* e = now_.entry(j);
    if (!id || e == nullptr || policy.state(id) != job_state::pending || policy.view().quota(j) != quota_)
      continue;
    r.jobs.push_back(e->id);
    erase_if(changed.jobs, [&](const job_entry& other) { return other.id == e->id; });
    const trial t = try_out(changed);
    if (!t.admits) continue;
    r.text = fmt::format("{} were not before it", listed_plainly(r.jobs));
    r.admits = true;
    r.remark = t.remark;
    found_.push_back(std::move(r));
    return;
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
