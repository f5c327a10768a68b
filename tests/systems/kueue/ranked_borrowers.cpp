// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kueue/detail/ranked_borrowers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

namespace {

using allot::candidate;
using allot::job_id;
using allot::quota_id;
using allot_test::random_source;

constexpr std::size_t n = 2;
constexpr allot::detail::dimension_bits contested = 0b10;

/// The jobs by quota, as the cycle shows them to a search.
struct ranked_jobs {
  std::vector<std::vector<candidate<n>>> of;
  std::set<job_id> gone;

  template <class Visit>
  void for_each(quota_id x, Visit visit) const {
    for (const candidate<n>& c : of[x.index()]) {
      if (!is_gone(c.job->id)) visit(c);
    }
  }
  [[nodiscard]] bool is_gone(job_id id) const { return gone.contains(id); }
};

/// The jobs below `top`, but for those at and below `skipped`, that are in quotas that borrow up to there.
std::vector<job_id> owed_below(const allot::ledger<n>& l, const ranked_jobs& jobs, quota_id top,
                               quota_id skipped, bool leaving) {
  std::vector<candidate<n>> all;
  for (const quota_id x : l.tree().top_down()) {
    if (x == top || l.tree().common_ancestor(x, top) != top) continue;
    bool owes = true;
    for (quota_id a = x; a != top; a = l.tree().parent(a)) {
      owes = owes && a != skipped && l.balance(a, 1) < allot::quantity{};
    }
    if (!owes) continue;
    jobs.for_each(x, [&](const candidate<n>& c) {
      if (c.leaving == leaving && c.job->request[1] > allot::quantity{}) all.push_back(c);
    });
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return allot::compare_candidates(a, b, quota_id::none()) < 0;
  });
  std::vector<job_id> ids;
  for (const auto& c : all) ids.push_back(c.job->id);
  return ids;
}

void check_reading(random_source& random) {
  allot::ledger<n> l{allot::build_quota_tree<n>(allot_test::random_quotas<n>(random)).value()};
  std::deque<allot::running_job<n>> kept;
  ranked_jobs jobs{std::vector<std::vector<candidate<n>>>(l.tree().slots()), {}};
  const auto all = l.tree().top_down();
  const auto any_quota = [&] { return all[random.below(all.size())]; };
  const std::size_t count = random.below(80);
  for (std::size_t i = 0; i < count; ++i) {
    allot::running_job<n> j;
    j.id = job_id{i};
    j.quota = any_quota();
    j.priority = static_cast<std::int64_t>(random.below(3));
    j.started = random.between(0, 4);
    j.order = random.below(1000);
    j.request = {allot::gpus(1), allot::gpus(random.between(0, 9))};
    l.charge(j.quota, j.request);
    jobs.of[j.quota.index()].push_back({&kept.emplace_back(j), random.one_in(5)});
  }
  allot::detail::ranked_borrowers<n> read[] = {{contested, false}, {contested, true}};
  for (auto& r : read) r.begin(l.tree().slots());
  for (int round = 0; round < 12; ++round) {
    const quota_id top = any_quota();
    const quota_id skipped = any_quota();
    const quota_id left = any_quota();
    for (const bool leaving : {false, true}) {
      auto& r = read[leaving ? 1 : 0];
      std::vector<job_id> expected = owed_below(l, jobs, top, skipped, leaving);
      // The first of the quota that is left is the last of it.
      std::vector<job_id> ids;
      bool is_left = false;
      for (const job_id id : expected) {
        const bool of_it = kept[id.index()].quota == left;
        if (!of_it || !is_left) ids.push_back(id);
        is_left = is_left || of_it;
      }
      std::vector<job_id> seen;
      r.rank(l, jobs, top);
      r.start();
      r.read_below(top);
      while (const auto* const s = r.next(jobs, [&](quota_id x) { return x == skipped; })) {
        seen.push_back(s->id);
        if (s->job->quota == left) r.leave_quota();
      }
      CHECK(seen == ids);
    }
    // What a cycle does: it takes victims, and charges what they make room for.
    for (std::size_t changes = random.below(4); changes > 0 && !kept.empty(); --changes) {
      const allot::running_job<n>& j = kept[random.below(kept.size())];
      if (!jobs.gone.insert(j.id).second) continue;
      l.release(j.quota, j.request);
      const quota_id x = any_quota();
      l.charge(x, {allot::gpus(0), allot::gpus(random.between(0, 9))});
      for (auto& r : read) {
        r.take_in(l, jobs, j.quota);
        r.take_in(l, jobs, x);
      }
    }
  }
}

}  // namespace

TEST_CASE("ranked_borrowers: jobs of quotas that borrow are read in order, whatever has changed") {
  allot_test::for_each_seed(500, check_reading);
}
