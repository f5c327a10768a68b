// SPDX-License-Identifier: BSL-1.0
// The result of the cycles: the jobs that are pending in the end, and the state of the quotas.
#include "lab/decide/decision_maker.hpp"

#include <allot/core/vector.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/loans.hpp>
#include <allot/systems/by_name/selectable_surplus.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

decision decision_maker::conclude() {
  for (job_index j = 0; j < jobs_.setup.jobs.size(); ++j) {
    if (!ids_[j] || scheduler_.state(ids_[j]) != job_state::pending) continue;
    if (std::find(awaiting_.begin(), awaiting_.end(), j) != awaiting_.end()) continue;
    made_.pending.push_back(explain_waiting(j));
  }
  close_accounts();
  return std::move(made_);
}

// The quotas.

amounts decision_maker::used_by(job_index j) const {
  const job_id id = ids_[j];
  amounts sum = scheduler_.request(id);
  for (const job_id s : scheduler_.elastic_pods_of(id)) {
    const job_state is = scheduler_.state(s);
    if (is == job_state::running || is == job_state::evicting) sum += scheduler_.request(s);
  }
  return sum;
}

ledger<max_resources> decision_maker::accounts() const {
  if (!host_->single_queue) return scheduler_.ledger();
  ledger<max_resources> all{accounts_};
  for (job_index j = 0; j < ids_.size(); ++j) {
    const job_state is = scheduler_.state(ids_[j]);
    if (ids_[j] && (is == job_state::running || is == job_state::evicting)) {
      all.charge(job(j).quota, used_by(j), capacity_of(j));
    }
  }
  return all;
}

vector<resources<max_resources>> decision_maker::demand() const {
  vector<resources<max_resources>> all(accounts_.slots());
  for (job_index j = 0; j < ids_.size(); ++j) {
    if (!ids_[j]) continue;
    all[job(j).quota.index()] += scheduler_.view().amount(j, job(j).pods(), scheduler_.pick(ids_[j]));
  }
  return all;
}

vector<amounts> decision_maker::entitlements() const {
  const quota_tree<max_resources>& tree = accounts_;
  vector<amounts> all(tree.slots());
  vector<amounts> wanted = demand();
  const auto policy = named_policy::find(scenario_.policy.preset);
  if (policy && policy->own() != nullptr && !host_->single_queue) {
    // A policy that divides the capacity itself says how.
    bool divides = false;
    for (const quota_id x : tree.top_down()) {
      const auto due = scheduler_.entitled(x);
      divides = divides || due;
      all[x.index()] = due.value_or(amounts{});
    }
    if (divides) return all;
  }
  if (scenario_.policy.preset != runai::name) {
    division<max_resources, selectable_surplus> shares{selectable_surplus{scenario_.policy.parts}};
    shares.update(accounts(), wanted);
    for (const quota_id x : tree.top_down()) all[x.index()] = shares.entitled(x);
    return all;
  }
  // KAI's own division, which divides the capacity. Jobs that were leaving are no demand, and what runs
  // counts as it is charged.
  for (const sim::running_job_at_start& r : jobs_.setup.running) {
    const sim::job<max_resources>& it = job(r.which);
    amounts& of = wanted[it.quota.index()];
    const amounts requested = scheduler_.view().amount(r.which, it.pods(), scheduler_.pick(ids_[r.which]));
    if (r.is_going) {
      of -= requested;
    } else if (it.charged_by_memory) {
      const std::size_t d = *it.charged_by_memory;
      of[d] += used_by(r.which)[d] - requested[d];
    }
  }
  const auto order = tree.top_down();
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    if (const quota_id p = tree.parent(*x)) wanted[p.index()] += wanted[x->index()];
  }
  amounts capacity = least_capacity(tree);
  for (std::size_t d = 0; d < max_resources; ++d) {
    if (!scenario_.capacity[d].is_unlimited()) capacity[d] = scenario_.capacity[d];
  }
  whole_unit_division<max_resources>::options how;
  const auto& units = scenario_.policy.share_units;
  std::copy(units.begin(), units.end(), how.unit.begin());
  whole_unit_division<max_resources> shares;
  shares.update(tree, capacity, wanted, {}, how);
  for (const quota_id x : order) all[x.index()] = shares.fair_share(x);
  return all;
}

void decision_maker::close_accounts() {
  const ledger<max_resources> held = accounts();
  const vector<amounts> entitled = entitlements();
  const loan_book<max_resources> loans{held};
  vector<amounts> used(held.tree().slots());
  const auto order = held.tree().top_down();
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    used[x->index()] += held.own_usage(*x);
    if (const quota_id p = held.tree().parent(*x)) used[p.index()] += used[x->index()];
  }
  for (std::size_t i = 0; i < scenario_.initial_quotas; ++i) {
    const quota_id x{i};
    decision::account a{x, used[i], entitled[i]};
    for (std::size_t d = 0; d < max_resources; ++d) {
      a.borrowed[d] = loans.borrowed(x, d);
      a.lent[d] = loans.lent(x, d);
    }
    a.share = share_of(held, contender<max_resources>{x}).weighted;
    made_.quotas.push_back(a);
  }
}

std::unique_ptr<decision_maker> make_decisions(const scenario& s, std::size_t rounds, errors& found) {
  auto host = host_jobs<decision_maker::n>(s, found);
  if (!host) return nullptr;
  auto maker = std::make_unique<decision_maker>(std::move(host));
  maker->run(rounds);
  return maker;
}

std::optional<decision> decide(const scenario& s, std::size_t rounds, errors& found) {
  const auto maker = make_decisions(s, rounds, found);
  if (!maker) return std::nullopt;
  return maker->conclude();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
