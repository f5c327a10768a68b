// SPDX-License-Identifier: BSL-1.0
// Why jobs wait while others are being evicted: what leaves is in use until it has gone, and nothing is said
// to be held that is not. The ninth law in that state, by preset.
#include <allot/core/dimension_names.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/gauges.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/sim/places.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/unit_host.hpp"
#include "tests/support/same_reasons.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::job_state;
using allot::pending_reason;
using allot::quantity;
using allot::quota_id;
using allot::resources;
using allot_test::models;
using allot_test::random_source;
using allot_test::unit_job;

namespace {

/// Nodes of 4 h100 each and of 4 a100 each, or none.
allot::sim::places nodes(std::int64_t count) {
  if (count == 0) return {};
  std::vector<allot::gpu::node_spec> all(2);
  for (std::size_t i = 0; i < 2; ++i) {
    all[i].name = i == 0 ? "h" : "a";
    all[i].count = count;
    all[i].gpus = 4;
    all[i].pool = all[i].name;
  }
  return allot::sim::places{allot::gpu::build_cluster(all).value()};
}

/// A host under a preset whose victims leave when the test says so.
template <class Preset>
class slow_host {
 public:
  using scheduler_type = allot::scheduler_for<Preset, allot_test::unit_view, allot::sim::places>;
  using pending_job = typename scheduler_type::plan_type::pending_job;
  static constexpr bool holds = std::same_as<Preset, allot::standard>;
  static constexpr bool is_kai = std::same_as<Preset, allot::runai>;

  slow_host(std::vector<allot::quota_spec<2>> quotas, std::int64_t of_nodes)
      : has_nodes(of_nodes > 0),
        s(allot::make_scheduler(Preset{}, allot_test::unit_view{}, std::move(quotas), nodes(of_nodes))
              .value()) {
    for (const quota_id x : s.tree().top_down()) {
      allot::queue_settings settings = s.settings(x);
      settings.preempt.reclaim = allot::preempt_reclaim::any;
      settings.preempt.within = allot::preempt_within::lower_priority;
      REQUIRE(s.configure(x, settings).empty());
    }
  }

  job_id submit(unit_job j) {
    j.number = jobs.size();
    if (j.name.empty()) j.name = std::to_string(j.number);
    jobs.push_back(std::move(j));
    return s.submit(&jobs.back());
  }
  job_id submit(const std::string& name, const std::string& in, std::int64_t gpus) {
    return submit({.name = name, .quota = s.tree().find(in), .each = models(gpus)});
  }
  std::string told(job_id id) {
    return sentence(s, s.why(id), allot::dimension_names<2>{"h100", "a100"},
                    [](const unit_job* j) { return j->name; });
  }

  bool has_nodes;
  std::deque<unit_job> jobs;
  scheduler_type s;
  instant now = 0;
};

/// A team with quota, and two that borrow.
std::vector<allot::quota_spec<2>> lender_and_borrowers() {
  return {{.name = "co"},
          {.name = "a", .parent = "co", .nominal = models(4)},
          {.name = "b", .parent = "co"},
          {.name = "c", .parent = "co"}};
}

/// `loan` leaves for `own`.
template <class Preset>
struct reclaim : slow_host<Preset> {
  explicit reclaim(std::int64_t of_nodes) : slow_host<Preset>(lender_and_borrowers(), of_nodes) {
    loan = this->submit("loan", "b", 3);
    static_cast<void>(this->s.step(1));
    own = this->submit("own", "a", 4);
  }

  job_id loan;
  job_id own;
};

template <class Preset>
void names_what_leaves(std::int64_t of_nodes) {
  reclaim<Preset> h{of_nodes};
  const job_id other = h.submit("other", "c", 2);
  static_cast<void>(h.s.step(2));
  REQUIRE(h.s.state(h.loan) == job_state::evicting);
  const auto why = h.s.why(other);
  if (h.is_kai && h.has_nodes) {
    // Only the nodes know how much there is.
    CHECK(
        h.told(other) ==
        "other waits: c allows it, but 2 gpu are asked for and 1 are free; loan, which is being evicted for "
        "own, is still there");
    return;
  }
  CHECK(why.reason == pending_reason::quota);
  REQUIRE(why.binding);
  CHECK(why.binding->quota == h.s.tree().find("co"));
  CHECK(why.departures.job == h.loan);
  CHECK(why.departures.beneficiary == h.own);
  CHECK(why.departures.others == 0);
  CHECK(why.departures.is_held == h.holds);
  CHECK(why.departures.amount == gpus(h.holds ? 4 : 3));
  CHECK(why.binding->missing == gpus(h.holds ? 2 : 1));
  if (h.holds) {
    CHECK(
        h.told(other) ==
        "other waits: co has room for none of the 2 h100; 2 must be released there, or its nominal raised by "
        "2; own, which waits for loan to go, holds 4 h100 there");
  } else {
    CHECK(
        h.told(other) ==
        "other waits: co has room for 1 of the 2 h100; 1 must be released there, or its nominal raised by 1; "
        "loan, which is being evicted for own, still uses 3 h100 there");
    // Nothing is held for the beneficiary either: it waits for the same.
    CHECK(h.told(h.own) ==
          "own waits: co has room for 1 of the 4 h100; 3 must be released there, or its nominal raised by 3; "
          "loan, which is being evicted for it, still uses 3 h100 there");
  }
  // When it has gone, there is nothing more to be said of it.
  h.s.evicted(h.loan);
  static_cast<void>(h.s.step(3));
  CHECK(h.s.state(h.own) == job_state::running);
  CHECK_FALSE(h.s.why(other).departures);
  CHECK(h.told(other).ends_with("raised by 2"));
}

template <class Preset>
void names_whose_turn_comes_first() {
  for (const std::int64_t of_nodes : {0, 1}) {
    reclaim<Preset> h{of_nodes};
    // One is free, which `own` is going to take.
    const job_id other = h.submit("other", "c", 1);
    static_cast<void>(h.s.step(2));
    REQUIRE(h.s.state(other) == job_state::pending);
    const auto why = h.s.why(other);
    CHECK(why.reason == pending_reason::behind_head);
    CHECK_FALSE(why.binding);
    CHECK_FALSE(why.placement);
    CHECK(why.departures == allot::departures{h.loan, h.own});
    CHECK(h.told(other) ==
          "other waits: there is room for it unless own, for which loan is being evicted, goes first");
    // There is, indeed.
    h.s.cancel(h.own);
    static_cast<void>(h.s.step(3));
    CHECK(h.s.state(other) == job_state::running);
  }
}

template <class Preset>
void names_who_is_at_its_place() {
  std::vector<allot::quota_spec<2>> quotas{{.name = "co"},
                                           {.name = "a", .parent = "co", .nominal = models(4)},
                                           {.name = "b", .parent = "co", .nominal = models(0)},
                                           {.name = "c", .parent = "co", .nominal = models(4)}};
  slow_host<Preset> h{quotas, 1};
  const job_id loan = h.submit("loan", "b", 3);
  static_cast<void>(h.s.step(1));
  const job_id own = h.submit("own", "a", 2);
  static_cast<void>(h.s.step(2));
  REQUIRE(h.s.state(loan) == job_state::evicting);
  // The quotas allow it, but the node has 4.
  const job_id other =
      h.submit({.name = "other", .quota = h.s.tree().find("c"), .each = models(3), .priority = -1});
  const auto why = h.s.why(other);
  CHECK(why.reason == pending_reason::placement);
  CHECK_FALSE(why.binding);
  REQUIRE(why.placement);
  CHECK(why.departures.amount == quantity{});
  CHECK(why.departures.job == loan);
  CHECK(why.departures.beneficiary == own);
  CHECK(why.departures.is_held == h.holds);
  if (h.holds) {
    CHECK(
        h.told(other) ==
        "other waits: c allows it, but 3 gpu are asked for and 2 are free; own, which waits for loan to go, "
        "holds room there");
  } else {
    CHECK(
        h.told(other) ==
        "other waits: c allows it, but 3 gpu are asked for and 1 are free; loan, which is being evicted for "
        "own, is still there");
  }
}

// --- the ninth law, in random worlds

/// How often each kind of answer was seen.
using counts = std::map<std::string, std::size_t>;

template <class Preset>
class random_world : public slow_host<Preset> {
  using base = slow_host<Preset>;
  using base::holds;
  using base::is_kai;
  using typename base::pending_job;
  using typename base::scheduler_type;

 public:
  random_world(random_source& random, counts& seen)
      : base(draw_quotas(random), random.one_in(2) ? random.between(1, 2) : 0),
        random_(random),
        seen_(seen) {}

  void live() {
    for (int i = 0; i < 50; ++i) {
      switch (random_.below(7)) {
        case 0:
          if (const job_id id = one_in(job_state::running)) this->s.finished(id);
          break;
        case 1:
          if (const job_id id = one_in(job_state::evicting)) this->s.evicted(id);
          break;
        case 2:
          if (random_.one_in(4)) {
            if (const job_id id = one_in(job_state::running)) this->s.evicting(id);
          }
          break;
        case 3:
        case 4:
          ids_.push_back(this->submit(draw_job()));
          break;
        default:
          step();
          break;
      }
      check_sums();
    }
  }

 private:
  static std::vector<allot::quota_spec<2>> draw_quotas(random_source& random) {
    std::vector<allot::quota_spec<2>> all{{.name = "co"}};
    if (random.one_in(3)) all.push_back({.name = "inner", .parent = "co"});
    for (const char* name : {"a", "b", "c"}) {
      allot::quota_spec<2> q;
      q.name = name;
      q.parent = random.pick(all).name;
      if (q.parent != "inner") q.parent = "co";
      for (std::size_t d = 0; d < 2; ++d) {
        q.nominal[d] = gpus(random.between(0, 5));
        if (random.one_in(5)) q.borrow[d] = allot::limit::at_most(gpus(random.between(0, 4)));
        if (!is_kai && random.one_in(5)) q.lend[d] = allot::limit::at_most(gpus(random.between(0, 4)));
      }
      all.push_back(q);
    }
    return all;
  }
  unit_job draw_job() {
    unit_job j;
    const char* const names[] = {"a", "b", "c"};
    j.quota = this->s.tree().find(random_.pick(names));
    j.pods = static_cast<std::uint32_t>(random_.between(1, 3));
    j.min_pods = random_.one_in(2) ? j.pods : static_cast<std::uint32_t>(random_.between(1, j.pods));
    const std::int64_t gpus = random_.between(1, 3);
    if (random_.one_in(4)) {
      j.menu = allot_test::h100_then_a100(gpus);
    } else if (!this->has_nodes && random_.one_in(3)) {
      j.each = models(gpus, random_.between(0, 2));
    } else {
      j.each = random_.one_in(2) ? models(gpus) : models(0, gpus);
    }
    j.priority = random_.between(0, 2);
    j.preemptible = !random_.one_in(6);
    return j;
  }
  [[nodiscard]] std::vector<job_id> in_state(job_state is) const {
    std::vector<job_id> all;
    for (const job_id id : ids_) {
      if (this->s.state(id) == is) all.push_back(id);
    }
    return all;
  }
  job_id one_in(job_state is) {
    const auto all = in_state(is);
    return all.empty() ? job_id{} : random_.pick(all);
  }

  void step() {
    const auto plan = this->s.step(++this->now);
    for (const auto& p : plan.pending) {
      INFO(this->told(p.id));
      CHECK(allot_test::same_reasons(p, this->s.why(p.id)));
    }
    const auto waiting = in_state(job_state::pending);
    // Not drawn, so that the worlds stay as they are.
    if (!waiting.empty()) check_never(waiting[static_cast<std::size_t>(this->now) % waiting.size()]);
    if (this->s.evicting().empty() && this->s.nominated().empty()) return;
    std::size_t left = 3;
    for (const job_id id : in_state(job_state::pending)) {
      if (left-- == 0) break;
      INFO(this->told(id));
      check(id, this->s.why(id));
    }
  }
  /// Those that wait, counted by reason, are those that wait, and each by what `why` says.
  void check_sums() {
    std::map<quota_id, std::array<std::size_t, allot::pending_reason_count>> told;
    const auto tell = [&](job_id id) {
      const job_state is = this->s.state(id);
      if (is != job_state::pending && is != job_state::nominated) return;
      ++told[this->s.quota(id)][static_cast<std::size_t>(this->s.why(id).reason)];
    };
    for (const job_id id : ids_) {
      tell(id);
      const auto pods = this->s.elastic_pods_of(id);
      for (const job_id pod : std::vector<job_id>(pods.begin(), pods.end())) tell(pod);
    }
    for (const auto& g : allot::gauges_of(this->s)) {
      CHECK(g.waiting == told[g.quota]);
      CHECK(std::accumulate(g.waiting.begin(), g.waiting.end(), std::size_t{0}) == this->s.waiting(g.quota));
    }
  }

  void check(job_id id, const pending_job& why) {
    const auto& d = why.departures;
    if (d) {
      CHECK(d.is_held == holds);
      if (d.job)
        CHECK(this->s.state(d.job) == (is_shrinking(d.job) ? job_state::running : job_state::evicting));
      if (d.beneficiary) {
        CHECK(this->s.state(d.beneficiary) == (d.is_held ? job_state::nominated : job_state::pending));
      }
      CHECK((why.binding || d.amount == quantity{}));
    }
    if (why.binding && !why.backs_off) {
      check_amount(id, why);
      check_granted(id, why);
    } else if (!holds && !why.binding) {
      check_place(id, why);
    }
  }
  [[nodiscard]] bool is_shrinking(job_id id) const { return this->s.state(id) == job_state::running; }

  /// Out of reach is exactly who does not start though it is alone.
  void check_never(job_id id) {
    const auto why = this->s.why(id);
    scheduler_type alone = this->s;
    for (const job_id other : ids_) {
      if (other != id) static_cast<void>(alone.cancel(other));
    }
    // Backoffs are over by then.
    allot::instant later = this->now + 1'000'000;
    // A head of Kueue's has its next flavors in later cycles.
    for (int i = 0; i < 8; ++i) {
      static_cast<void>(alone.step(++later));
      alone.retry();
    }
    const bool has_started = alone.state(id) == job_state::running;
    INFO(this->told(id));
    if (why.out_of_reach) CHECK_FALSE(has_started);
    if (this->has_nodes) return;
    CHECK(has_started == !why.out_of_reach);
    if (!has_started) CHECK(alone.why(id).out_of_reach == why.out_of_reach);
    ++seen_[why.out_of_reach ? "never" : "not now"];
  }

  /// The amount is what is freed at the bound when all of that has gone.
  void check_amount(job_id id, const pending_job& why) {
    scheduler_type after = this->s;
    if (holds) {
      for (const job_id other : std::vector<job_id>(after.nominated().begin(), after.nominated().end()))
        after.cancel(other);
    } else {
      for (const job_id other : std::vector<job_id>(after.evicting().begin(), after.evicting().end()))
        after.finished(other);
    }
    // The nomination of an elastic pod goes with its core only.
    if (holds && !after.nominated().empty()) return;
    if constexpr (is_kai) {
      if (why.binding->kind != allot::bound::capacity) {
        CHECK_FALSE(why.departures);
        return;
      }
      const auto used = [&](const scheduler_type& in) {
        quantity sum;
        for (const quota_id root : in.tree().roots())
          sum += in.ledger().total_usage(root)[why.binding->dimension];
        return sum;
      };
      CHECK(why.departures.amount == used(this->s) - used(after));
    } else {
      CHECK(why.departures.amount == room(after, id, why) - room(this->s, id, why));
    }
    ++seen_[why.departures ? "departures at a bound" : "a bound"];
  }
  quantity room(scheduler_type& in, job_id id, const pending_job& why) {
    quantity there;
    in.counted().for_each_bound(
        why.quota, why.binding->dimension, lane(id), [&](quota_id at, quantity left, bool of_all) {
          if (at == why.binding->quota && of_all == (why.binding->kind != allot::bound::guarantee))
            there = left;
        });
    return there;
  }
  [[nodiscard]] allot::capacity_kind lane(job_id id) const {
    const auto lanes = allot::policies_of(Preset{}).not_preemptible;
    return this->s.what(id)->preemptible ? allot::capacity_kind::any : lanes;
  }

  /// With the other pending jobs gone. False if pods of another job may come, which can't be cancelled.
  bool cancel_others(scheduler_type& alone, job_id id) const {
    for (const job_id other : in_state(job_state::pending)) {
      if (other != id) alone.cancel(other);
    }
    for (const job_id other : in_state(job_state::running)) {
      for (const job_id pod : alone.elastic_pods_of(other)) {
        const job_state is = alone.state(pod);
        if (is == job_state::pending || is == job_state::nominated) return false;
      }
    }
    for (const job_id other : alone.nominated()) {
      if (alone.what(other)->min_pods < alone.what(other)->pods) return false;
    }
    std::size_t waiting = 0;
    for (const quota_id x : alone.tree().top_down()) waiting += alone.waiting(x);
    return waiting == 1 + alone.nominated().size();
  }
  static bool is_in(const auto& list, job_id id) {
    return std::any_of(list.begin(), list.end(), [&](const auto& x) { return x.id == id; });
  }
  /// Whether it starts; what is nominated has its share, and waits for others to leave.
  bool starts(scheduler_type& in, job_id id) {
    const auto& plan = in.step(this->now + 1);
    return is_in(plan.admissions, id) || (holds && is_in(plan.nominations, id));
  }
  /// In Kueue an elastic job rather waits for more pods than start with fewer, and keeps asking for as many.
  [[nodiscard]] bool may_settle(job_id id) const {
    const unit_job& j = *this->s.what(id);
    return !holds && !is_kai && j.min_pods < j.pods;
  }

  /// The ninth law.
  void check_granted(job_id id, const pending_job& why) {
    const bool has_choice = !this->s.what(id)->menu.empty();
    scheduler_type alone = this->s;
    if (may_settle(id) || !cancel_others(alone, id)) return;
    {
      scheduler_type as_it_is = alone;
      const auto& plan = as_it_is.step(this->now + 1);
      // It preempts by itself now, or what others hold has moved.
      if (!plan.evictions.empty() || (holds && !plan.empty())) return;
      if (!has_choice) CHECK_FALSE(is_in(plan.admissions, id));
    }
    if (this->has_nodes) return;
    ++seen_[why.departures ? "granted beside departures" : "granted"];
    std::vector<allot::shortfall> missing;
    if constexpr (is_kai) {
      grant_one_by_one(alone, id, has_choice);
    } else {
      allot::for_each_shortfall(alone.counted(), why.quota, alone.request(id), lane(id),
                                [&](const allot::shortfall& lack) { missing.push_back(lack); });
      REQUIRE(std::find(missing.begin(), missing.end(), *why.binding) != missing.end());
      scheduler_type granted = alone;
      for (const auto& lack : missing) grant(granted, lack, lack.missing);
      bool has_started = starts(granted, id);
      if (has_choice && !has_started) {
        // A head of Kueue's goes on with its next flavors before it is back at its first.
        granted.retry();
        has_started = starts(granted, id);
      }
      CHECK(has_started);
      if (missing.size() != 1 || has_choice) return;
      grant(alone, missing.front(), missing.front().missing - quantity::milli(1));
      const auto held = alone.nominated();
      const std::vector<job_id> nominated(held.begin(), held.end());
      const auto& plan = alone.step(this->now + 1);
      // Who owns more now may take what is on its way to a borrower, which may be nominated on others then.
      const bool takes_it = std::any_of(nominated.begin(), nominated.end(), [&](job_id n) {
        return alone.state(n) == job_state::pending || is_in(plan.nominations, n);
      });
      CHECK_FALSE((is_in(plan.admissions, id) && !takes_it));
    }
  }
  /// KAI's bounds are not the ledger's: it tells one at a time.
  void grant_one_by_one(scheduler_type& in, job_id id, bool has_choice) {
    for (int i = 0; i < 12; ++i) {
      const auto why = in.why(id);
      if (!why.binding) break;
      scheduler_type less = in;
      grant(less, *why.binding, why.binding->missing - quantity::milli(1));
      if (!has_choice && why.binding->missing > quantity::milli(1)) CHECK_FALSE(starts(less, id));
      grant(in, *why.binding, why.binding->missing);
      if (starts(in, id)) return;
    }
    FAIL_CHECK("it does not start, whatever is granted");
  }
  void grant(scheduler_type& in, const allot::shortfall& lack, quantity by) {
    allot::quota_spec<2> spec = in.tree().spec(lack.quota);
    if (lack.kind == allot::bound::borrow_limit) {
      const quantity limit = is_kai ? spec.borrow[lack.dimension].of(spec.nominal[lack.dimension])
                                    : in.ledger().supply_of(lack.quota, lack.dimension).borrow;
      spec.borrow[lack.dimension] = allot::limit::at_most(limit + by);
    } else if (is_kai && lack.kind == allot::bound::capacity) {
      // Where it is unknown it is what the quotas deserve.
      resources<2> all = allot::least_capacity(in.tree());
      spec.nominal[lack.dimension] = all[lack.dimension] + by;
    } else {
      spec.nominal[lack.dimension] += by;
    }
    const std::vector<allot::quota_change<2>> changes{
        allot::resize_quota<2>{lack.quota, spec.nominal, spec.lend, spec.borrow}};
    REQUIRE(in.apply(changes));
  }

  /// Nothing is held: a job without a bound and with a place starts if no other has its turn first; one that
  /// has none does not, though others leave.
  void check_place(job_id id, const pending_job& why) {
    scheduler_type alone = this->s;
    if (!this->s.what(id)->menu.empty() || may_settle(id) || !cancel_others(alone, id)) return;
    const auto& plan = alone.step(this->now + 1);
    if (!plan.evictions.empty()) return;
    const bool has_room = !why.placement;
    CHECK(has_room == (why.reason == pending_reason::behind_head));
    if (has_room && is_kai && this->has_nodes) return;
    CHECK(is_in(plan.admissions, id) == has_room);
    ++seen_[std::string{has_room ? "room" : "no place"} + (why.departures ? " and departures" : "")];
  }

  random_source& random_;
  counts& seen_;
  std::vector<job_id> ids_;
};

template <class Preset>
void keeps_the_ninth_law() {
  counts seen;
  allot_test::for_each_seed(250, [&](random_source& random) { random_world<Preset>{random, seen}.live(); });
  if (!allot_test::all_cases_run()) return;
  CHECK(seen["departures at a bound"] > 100);
  CHECK(seen["granted"] > 100);
  CHECK(seen["never"] > 100);
  CHECK(seen["not now"] > 100);
  CHECK(seen["granted beside departures"] > 100);
  if (std::same_as<Preset, allot::standard>) return;
  CHECK(seen["no place and departures"] > 10);
  CHECK(seen["room"] + seen["room and departures"] > 10);
}

}  // namespace

TEST_CASE("reasons: what leaves is in use, and named with the job for which it does") {
  for (const std::int64_t of_nodes : {0, 1}) {
    names_what_leaves<allot::kueue>(of_nodes);
    names_what_leaves<allot::kueue_fair>(of_nodes);
    names_what_leaves<allot::runai>(of_nodes);
    names_what_leaves<allot::standard>(of_nodes);
  }
}

TEST_CASE("reasons: where there is room now, it is said who may go first") {
  names_whose_turn_comes_first<allot::kueue>();
  names_whose_turn_comes_first<allot::kueue_fair>();
  names_whose_turn_comes_first<allot::runai>();
}

TEST_CASE("reasons: what leaves is at its place until it has gone") {
  names_who_is_at_its_place<allot::kueue>();
  names_who_is_at_its_place<allot::kueue_fair>();
  names_who_is_at_its_place<allot::runai>();
  names_who_is_at_its_place<allot::standard>();
}

TEST_CASE("reasons: law 9 while victims leave: kueue") {
  keeps_the_ninth_law<allot::kueue>();
}
TEST_CASE("reasons: law 9 while victims leave: kueue_fair") {
  keeps_the_ninth_law<allot::kueue_fair>();
}
TEST_CASE("reasons: law 9 while victims leave: runai") {
  keeps_the_ninth_law<allot::runai>();
}
TEST_CASE("reasons: law 9 while victims leave: standard") {
  keeps_the_ninth_law<allot::standard>();
}
