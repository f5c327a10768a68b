// SPDX-License-Identifier: BSL-1.0
//
// What is fair? The same pool under the notions of fairness that the library has beside the one of its own
// policy: whole gangs, Armada's three shares, hierarchical dominant shares, Kueue's usage at admission, and a
// budget of disruptions. None of them needs a scheduler.
#include <allot/core/text.hpp>
#include <allot/extras/adjusted_shares.hpp>
#include <allot/extras/admission_usage.hpp>
#include <allot/extras/disruption_budget.hpp>
#include <allot/extras/hierarchical_drf.hpp>
#include <allot/extras/whole_gangs.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/weight.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;
using allot::to_string;

/// Three teams share 32 GPUs. An exact third is no use to a team whose jobs are gangs of 8.
void in_whole_gangs() {
  const allot::ledger<> l{
      allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(32), .inclusive = true},
                                  {.name = "train", .parent = "root"},
                                  {.name = "tune", .parent = "root"},
                                  {.name = "serve", .parent = "root"}})
          .value()};
  const std::vector<allot::resources<>> wanted{gpus(0), gpus(64), gpus(64), gpus(64)};
  const std::vector<allot::resources<>> gang{gpus(0), gpus(8), gpus(4), gpus(1)};
  allot::division<> exact;
  exact.update(l, wanted);
  allot::whole_gangs<> gangs{l};
  gangs.update(wanted, exact, gang);
  fmt::print("32 GPUs, three equal teams\n");
  for (const char* team : {"train", "tune", "serve"}) {
    const quota_id x = l.tree().find(team);
    fmt::print("  {:<6} gangs of {}: {:>6} exact, {:>2} in whole gangs\n", team,
               to_string(gang[x.index()][0]), to_string(exact.own(x)[0]), to_string(gangs.own(x)[0]));
  }
}

/// Armada orders queues by what they could still claim, not by what the others' idleness gives them.
void by_adjusted_shares() {
  allot::adjusted_shares shares;
  shares.update(gpus(80), std::vector<allot::share_claim>{{gpus(10)}, {gpus(100)}, {gpus(100), 2000}});
  fmt::print("80 GPUs, Armada's shares of queues that want 10, 100 and, with twice the weight, 100\n");
  for (const allot::adjusted_share& s : shares.shares()) {
    fmt::print("  fair {:>6}, capped by demand {:>6}, uncapped {:>6}\n", to_string(s.fair),
               to_string(s.capped), to_string(s.uncapped));
  }
}

/// A group whose members need different resources: their sum looks like twice the share of either.
void by_hierarchical_shares() {
  allot::ledger<2> l{allot::build_quota_tree<2>({{.name = "org", .nominal = {gpus(100), gpus(100)}},
                                                 {.name = "cpu team", .parent = "org"},
                                                 {.name = "gpu team", .parent = "org"},
                                                 {.name = "other", .nominal = {gpus(100), gpus(100)}}})
                         .value()};
  const quota_id org = l.tree().find("org"), other = l.tree().find("other");
  l.charge(l.tree().find("cpu team"), {gpus(0), gpus(60)});
  l.charge(l.tree().find("gpu team"), {gpus(30), gpus(0)});
  l.charge(other, {gpus(40), gpus(40)});
  allot::hierarchical_drf<2> drf{{gpus(200), gpus(200)}};
  // The organisation has no jobs of its own that could ask for more.
  drf.update(l, [&](quota_id x) { return x == org; });
  const auto thousandths = [&](quota_id x) {
    return static_cast<std::int64_t>(drf.share(x, false) * 1000 / allot::hierarchical_drf<2>::one);
  };
  fmt::print("Dominant shares: org uses 30 GPUs and 60 CPUs of 200, other 40 and 40\n");
  fmt::print("  added up: 300 and 200 thousandths; hierarchical: {} and {}\n", thousandths(org),
             thousandths(other));
}

/// Kueue serves first who has used least of late; a job counts as soon as it holds its quota.
void by_usage_at_admission() {
  const quota_id a{0}, b{1};
  allot::admission_usage<> usage{{.half_life = 100, .sampling_interval = 10}};
  usage.resize(2, 0);
  usage.tick(a, gpus(8), 0);
  const auto one = allot::fair_weight::whole(1);
  for (allot::instant now = 10; now <= 300; now += 10) {
    usage.tick(a, gpus(now <= 100 ? 8 : 0), now);
    usage.tick(b, gpus(now <= 100 ? 0 : 2), now);
    if (now % 100 == 0) {
      fmt::print("  after {} s: a has used {}, b {}: {} is next\n", now, to_string(usage.used(a, 0)),
                 to_string(usage.used(b, 0)), usage.score(a, one) < usage.score(b, one) ? "a" : "b");
    }
  }
}

/// A job of 4 may evict at most twice its size, and a quota loses at most three jobs an hour.
void within_a_budget() {
  const allot::ledger<> l{allot::build_quota_tree<1>({{.name = "all", .nominal = gpus(64)}}).value()};
  allot::eviction_history history;
  history.record(quota_id{0}, 1000);
  history.record(quota_id{0}, 2000);
  const allot::disruption_budget budget{
      .history = &history, .per_quota = 3, .window = 3600, .times = 2, .per = 1};
  allot::beneficiary<1> job;
  job.request = gpus(4);
  for (const allot::instant now : {3000, 9000}) {
    for (const std::int64_t size : {8, 16}) {
      job.now = now;
      allot::victim_candidate<1> victim;
      victim.quota = quota_id{0};
      victim.yields = gpus(size);
      allot::search_progress<1> progress;
      const bool first = budget(l, job, victim, progress);
      progress.evictions_of_quota = 1;
      const bool second = budget(l, job, victim, progress);
      fmt::print("  at {} s a victim of {}: the first {}, a second {}\n", now, size,
                 first ? "is protected" : "may be evicted", second ? "is protected" : "may be evicted");
    }
  }
}

}  // namespace

int main() {
  in_whole_gangs();
  by_adjusted_shares();
  by_hierarchical_shares();
  fmt::print("Usage at admission, half-life 100 s: a runs 8 GPUs until 100, b then 2\n");
  by_usage_at_admission();
  fmt::print("A budget of disruptions for a job of 4: twice its size, three evictions an hour\n");
  within_a_budget();
}
