// SPDX-License-Identifier: BSL-1.0
#include "governor/src/snapshot_quotas.hpp"

#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/loans.hpp>
#include <allot/systems/by_name/selectable_surplus.hpp>

#include <vector>

namespace allot_governor {

amounts_row row_of(const amounts& a, std::size_t resources) {
  amounts_row r;
  for (std::size_t d = 0; d < resources; ++d) r.push_back(a[d]);
  return r;
}

void show_quotas(snapshot& s, const allot::lab::quotas_file& file, const engine* of) {
  s.policy = file.policy_name;
  s.resources = {file.resources.begin(), file.resources.end()};
  const std::size_t n = s.resources.size();
  for (const auto& q : file.quotas) {
    snapshot::quota& to = s.quotas.emplace_back();
    to.name = q.spec.name;
    to.nominal = row_of(q.spec.nominal, n);
    to.entitled = to.used = to.borrowed = to.lent = to.requested = row_of({}, n);
    for (std::size_t i = 0; i < file.quotas.size(); ++i) {
      if (!q.spec.parent.empty() && file.quotas[i].spec.name == q.spec.parent) to.parent = i;
    }
  }
  if (of == nullptr || of->scheduler().tree().slots() != s.quotas.size()) return;
  const host_scheduler& policy = of->scheduler();
  const auto& held = policy.ledger();
  const allot::loan_book<dimensions> loans{held};
  std::vector<amounts> used(s.quotas.size());
  std::vector<amounts> wanted(s.quotas.size());
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const allot::quota_id x{i};
    wanted[i] = held.own_usage(x) + policy.requested(x);
  }
  allot::division<dimensions, allot::selectable_surplus> shares{};
  shares.update(held, wanted);
  const auto order = held.tree().top_down();
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    used[x->index()] += held.own_usage(*x);
    if (const allot::quota_id p = held.tree().parent(*x)) used[p.index()] += used[x->index()];
  }
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const allot::quota_id x{i};
    snapshot::quota& to = s.quotas[i];
    to.used = row_of(used[i], n);
    to.entitled = row_of(policy.entitled(x).value_or(shares.entitled(x)), n);
    to.requested = row_of(policy.requested(x), n);
    for (std::size_t d = 0; d < n; ++d) {
      to.borrowed[d] = loans.borrowed(x, d);
      to.lent[d] = loans.lent(x, d);
    }
    to.share = share_of(held, allot::contender<dimensions>{x}).weighted.approximate();
  }
  for (std::size_t d = 0; d < n; ++d) {
    for (const allot::loan& l : loans.loans(d))
      s.loans.push_back({d, l.lender.index(), l.borrower.index(), l.amount});
  }
  for (const allot::job_id id : policy.nominated()) {
    snapshot::reservation& to = s.reservations.emplace_back();
    to.job = of->key_of(id);
    to.quota = policy.quota(id).index();
    for (const allot::job_id v : policy.evicting()) {
      if (policy.beneficiary_of(v) == id) to.waits_for.push_back(of->key_of(v));
    }
  }
  for (const allot::job_id id : policy.reservations()) {
    const auto p = policy.reservation_of(id);
    snapshot::reservation& to = s.reservations.emplace_back();
    to.job = of->key_of(id);
    to.quota = policy.quota(id).index();
    // When a job that gathers starts nobody knows.
    if (p->start != allot::without_end && !p->gathers_since) to.start = p->start;
    if (p->first_start != allot::without_end && !p->gathers_since) to.first_start = p->first_start;
    if (p->cause != allot::delay_cause::none) to.cause = to_string(p->cause);
  }
}

}  // namespace allot_governor
