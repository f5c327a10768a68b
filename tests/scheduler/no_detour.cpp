// SPDX-License-Identifier: BSL-1.0
// Law 14: what is decided at one instant, over all its steps, evicts no job that starts again on what was
// taken from others, if these alone could have made the room by the policy's own eligibility. Judged against
// a search through all orders of starts and evictions that have the same end, in random worlds whose host
// reports each eviction as done at once, at the same time.
#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot::quota_id;

namespace {

constexpr std::size_t n = 3;

struct work {
  std::size_t number = 0;
  quota_id quota;
  /// Of one pod.
  allot::resources<n> each{};
  std::uint32_t pods = 1;
  std::uint32_t least = 1;
  std::int64_t priority = 0;
  job_id id{};
};

struct work_view {
  using job = const work*;
  quota_id quota(job j) const { return j->quota; }
  allot::resources<n> request(job j) const { return request(j, j->pods); }
  allot::resources<n> request(job j, std::uint32_t pods) const { return j->each * pods; }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->least; }
  std::int64_t priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  allot::gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods); }
  allot::gpu::pod_request pod_request(job j, std::uint32_t pods) const {
    return {.gpus = j->each[0], .pods = pods};
  }
};

/// How a world is drawn.
struct kind {
  std::size_t resources = 1;
  bool has_nodes = false;
  bool is_elastic = false;
};

struct tally {
  std::size_t evictions = 0;
  std::size_t back = 0;
  std::size_t detours = 0;
};

template <class Guard>
using guarded = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                                allot::lowest_priority_then_highest_share, Guard>;

template <class Guard>
class world {
 public:
  using scheduler_type = allot::scheduler<work_view, allot::sim::places, guarded<Guard>>;

  world(allot_test::random_source& random, const kind& of)
      : random_(random), of_(of), scheduler_(work_view{}, tree(), machines()) {
    const allot::queue_settings settings = allot::standard{}.defaults();
    for (const quota_id x : scheduler_.tree().top_down()) {
      REQUIRE(scheduler_.configure(x, settings).empty());
      if (scheduler_.tree().children(x).empty()) leaves_.push_back(x);
    }
  }

  void live(tally& t) {
    const std::size_t instants = 6 + random_.below(10);
    for (std::size_t i = 0; i < instants; ++i) {
      ++now_;
      for (std::size_t k = random_.below(i == 0 ? 8 : 4); k-- > 0;) submit();
      for (work& j : jobs_) {
        if (j.id && scheduler_.state(j.id) == job_state::running && random_.one_in(12)) {
          scheduler_.finished(j.id);
          log_ += " x" + std::to_string(j.number);
          j.id = {};
        }
      }
      instant(t);
    }
  }
  const std::string& log() const { return log_; }

 private:
  struct unit {
    job_id id;
    const work* what;
    job_id core;
    allot::gpu::allocation_id at;
  };

  allot::resources<n> amounts(std::int64_t least, std::int64_t most) {
    allot::resources<n> r;
    for (std::size_t d = 0; d < of_.resources; ++d) r[d] = gpus(random_.between(least, most));
    return r;
  }
  allot::quota_tree<n> tree() {
    nodes_ = of_.has_nodes ? random_.between(1, 4) : 0;
    each_ = random_.between(2, 4);
    const std::int64_t all = of_.has_nodes ? nodes_ * each_ : random_.between(3, 10);
    std::vector<allot::quota_spec<n>> specs;
    allot::quota_spec<n> root;
    root.name = "root";
    root.nominal = {};
    const std::size_t quotas = 2 + random_.below(3);
    std::int64_t left = all;
    const bool owns = !random_.one_in(3);
    const bool deep = random_.one_in(3);
    if (deep) {
      specs.push_back(root);
      for (const char* name : {"d0", "d1"}) {
        allot::quota_spec<n> s;
        s.name = name;
        s.parent = "root";
        s.weight = allot::fair_weight::whole(random_.between(1, 2));
        specs.push_back(s);
      }
    } else {
      specs.push_back(root);
    }
    for (std::size_t q = 0; q < quotas; ++q) {
      allot::quota_spec<n> s;
      s.name = "q" + std::to_string(q);
      s.parent = deep ? "d" + std::to_string(q % 2) : "root";
      const std::int64_t own = owns ? random_.between(0, std::min<std::int64_t>(left, 4)) : 0;
      left -= own;
      for (std::size_t d = 0; d < of_.resources; ++d) s.nominal[d] = gpus(own);
      s.weight = allot::fair_weight::whole(random_.between(1, 3));
      specs.push_back(s);
    }
    for (std::size_t d = 0; d < of_.resources; ++d) {
      specs[0].nominal[d] = gpus(left + (d == 0 ? 0 : random_.between(0, 3)));
    }
    return allot::build_quota_tree(std::move(specs)).value();
  }
  allot::sim::places machines() {
    if (nodes_ == 0) return {};
    allot::gpu::node_spec s;
    s.name = "n";
    s.count = nodes_;
    s.gpus = each_;
    return allot::sim::places{allot::gpu::build_cluster({s}).value()};
  }

  void submit() {
    work& j = jobs_.emplace_back();
    j.number = jobs_.size();
    j.quota = random_.pick(leaves_);
    if (of_.is_elastic && random_.one_in(2)) {
      j.pods = static_cast<std::uint32_t>(random_.between(1, 4));
      j.least = static_cast<std::uint32_t>(random_.between(1, j.pods));
      j.each = amounts(1, 1);
    } else {
      j.each = amounts(0, 3);
      j.each[0] = gpus(random_.between(1, of_.has_nodes ? std::min<std::int64_t>(each_, 3) : 3));
    }
    j.priority = random_.between(0, 2);
    j.id = scheduler_.submit(&j).id;
    log_ += " ?" + text(j);
  }
  std::string text(const work& j) const {
    std::string s = std::to_string(j.number) + ":" + std::string{scheduler_.tree().spec(j.quota).name} +
                    ":p" + std::to_string(j.priority) + ":";
    for (std::size_t d = 0; d < of_.resources; ++d) s += std::to_string(j.each[d].in_milli() / 1000) + ",";
    if (j.pods > 1) s += "x" + std::to_string(j.least) + "-" + std::to_string(j.pods);
    return s;
  }

  std::vector<unit> running() const {
    std::vector<unit> all;
    for (const work& j : jobs_) {
      if (!j.id || scheduler_.state(j.id) != job_state::running) continue;
      all.push_back({j.id, &j, {}, scheduler_.place_of(j.id)});
      for (const job_id p : scheduler_.elastic_pods_of(j.id)) {
        if (scheduler_.state(p) == job_state::running) all.push_back({p, &j, j.id, scheduler_.place_of(p)});
      }
    }
    return all;
  }

  void instant(tally& t) {
    const auto before = running();
    const allot::sim::places places = scheduler_.places();
    // Those that went whole.
    std::set<const work*> evicted;
    log_ += "\n" + std::to_string(now_) + ":";
    for (int round = 0;; ++round) {
      REQUIRE(round < 60);
      const auto& plan = scheduler_.step(now_);
      if (plan.empty()) break;
      log_ += " |";
      std::vector<job_id> going;
      for (const auto& e : plan.evictions) {
        ++t.evictions;
        going.push_back(e.id);
        if (!e.core) evicted.insert(e.what);
        log_ += " -" + std::to_string(e.what->number) + (e.core ? "^" : "") + ">" +
                std::to_string(scheduler_.what(e.beneficiary)->number);
      }
      for (const auto& a : plan.admissions)
        log_ += " +" + std::to_string(a.what->number) + (a.core ? "^" : "");
      for (const auto& a : plan.nominations) log_ += " ~" + std::to_string(a.what->number);
      for (const job_id id : going) scheduler_.evicted(id);
    }
    judge(t, before, places, running(), evicted);
  }

  /// Whether they are pods of one job, or that job.
  static bool is_same(const unit& a, const unit& b) {
    return a.what == b.what && a.core.is_none() == b.core.is_none();
  }
  /// Jobs and pods that left and are there again.
  void judge(tally& t, const std::vector<unit>& before, const allot::sim::places& places,
             const std::vector<unit>& after, const std::set<const work*>& evicted) {
    const auto has = [](const std::vector<unit>& all, const unit& u) {
      return std::any_of(all.begin(), all.end(), [&](const unit& o) { return o.id == u.id; });
    };
    // What is gone and what is new; of one job and one kind they cancel out.
    std::vector<unit> gone, fresh, back;
    for (const unit& u : before) {
      if (!has(after, u) || evicted.count(u.what) != 0) gone.push_back(u);
    }
    for (const unit& u : after) {
      if (!has(before, u) || evicted.count(u.what) != 0) fresh.push_back(u);
    }
    std::vector<unit> lost = gone;
    for (const unit& u : fresh) {
      const auto same = std::find_if(lost.begin(), lost.end(), [&](const unit& o) { return is_same(o, u); });
      if (same == lost.end()) continue;
      back.push_back(*same);
      lost.erase(same);
    }
    for (const unit& v : back) {
      ++t.back;
      if (!could_stay(v, gone, fresh, places)) continue;
      if (!may_stay(v, before, gone, fresh)) continue;
      ++t.detours;
      log_ += " !!" + std::to_string(v.what->number) + (v.core ? "^" : "");
    }
  }
  allot::running_job<n> facts(const unit& u) const {
    allot::running_job<n> r;
    r.id = u.id;
    r.quota = u.what->quota;
    r.priority = u.what->priority;
    r.submitted = static_cast<allot::instant>(u.what->number);
    r.request = u.what->each * (u.core ? 1U : u.what->least);
    r.elastic = !u.core.is_none();
    return r;
  }
  allot::beneficiary<n> asking(const unit& u) const {
    auto may = scheduler_.settings(u.what->quota).preempt;
    return {u.what->quota,
            facts(u).request,
            allot::capacity_kind::any,
            u.what->priority,
            static_cast<allot::instant>(u.what->number),
            may};
  }
  /// Whether there is an order in which those that come start, each with victims that it may preempt,
  /// although that one stays. As far as quotas go.
  bool may_stay(const unit& v, const std::vector<unit>& before, const std::vector<unit>& gone,
                const std::vector<unit>& fresh) {
    std::vector<unit> come = fresh, go;
    const auto copy = std::find_if(come.begin(), come.end(), [&](const unit& o) { return is_same(o, v); });
    if (copy != come.end()) come.erase(copy);
    for (const unit& u : gone) {
      if (u.id != v.id) go.push_back(u);
    }
    if (come.size() + go.size() > 14) return true;
    allot_test::yield_oracle<n> oracle{scheduler_.tree()};
    allot::ledger<n> l{scheduler_.tree()};
    for (const unit& u : before) {
      oracle.charge(facts(u));
      l.charge(u.what->quota, facts(u).request, allot::capacity_kind::any);
    }
    // Others that left and are there again: each starts after it has gone, or never goes.
    pairs_.assign(come.size(), go.size());
    std::vector<bool> paired(go.size());
    for (std::size_t i = 0; i < come.size(); ++i) {
      for (std::size_t k = 0; k < go.size() && pairs_[i] == go.size(); ++k) {
        if (paired[k] || !is_same(come[i], go[k])) continue;
        pairs_[i] = k;
        paired[k] = true;
      }
    }
    std::set<std::uint32_t> seen;
    return reach(0, come, go, oracle, l, seen);
  }
  bool reach(std::uint32_t state, const std::vector<unit>& come, const std::vector<unit>& go,
             allot_test::yield_oracle<n>& oracle, allot::ledger<n>& l, std::set<std::uint32_t>& seen) {
    const auto has_gone = [&](std::size_t k) { return (state >> (come.size() + k) & 1U) != 0; };
    const auto never_left = [&](std::size_t i) { return pairs_[i] < go.size() && !has_gone(pairs_[i]); };
    bool all = true;
    for (std::size_t i = 0; i < come.size(); ++i) all = all && ((state >> i & 1U) != 0 || never_left(i));
    if (all) return true;
    if (!seen.insert(state).second) return false;
    for (std::size_t i = 0; i < come.size(); ++i) {
      if ((state >> i & 1U) != 0 || never_left(i)) continue;
      const auto b = asking(come[i]);
      const bool admits = oracle.admits(b);
      if (admits) {
        const auto f = facts(come[i]);
        oracle.charge(f);
        l.charge(f.quota, f.request, allot::capacity_kind::any);
        const bool found = reach(state | 1U << i, come, go, oracle, l, seen);
        l.release(f.quota, f.request, allot::capacity_kind::any);
        oracle.release(f);
        if (found) return true;
      }
      if (admits && nodes_ == 0) continue;
      const auto contested = oracle.contested(b);
      for (std::size_t k = 0; k < go.size(); ++k) {
        const std::uint32_t bit = 1U << (come.size() + k);
        if ((state & bit) != 0) continue;
        const auto f = facts(go[k]);
        bool may = oracle.may_ask(b, f, contested);
        if (!may && Guard::judges_rivals() && oracle.is_rival(b, f, contested)) {
          const allot::victim_candidate<n> c{f.quota, allot::relation::rival, f, f.request, now_};
          for (std::size_t strategy = 0; strategy < 2; ++strategy) {
            may = may || allot::ask_guard<n>(Guard{}, l, b, c, strategy).fair;
          }
        }
        if (!may) continue;
        oracle.release(f);
        l.release(f.quota, f.request, allot::capacity_kind::any);
        const bool found = reach(state | bit, come, go, oracle, l, seen);
        l.charge(f.quota, f.request, allot::capacity_kind::any);
        oracle.charge(f);
        if (found) return true;
      }
    }
    return false;
  }
  /// Whether all that come find places although that one stays at its own.
  bool could_stay(const unit& v, const std::vector<unit>& gone, const std::vector<unit>& fresh,
                  const allot::sim::places& places) {
    if (nodes_ == 0) return true;
    allot::sim::places p = places;
    for (const unit& u : gone) {
      if (u.id != v.id) p.release(u.at);
    }
    std::vector<allot::gpu::pod_request> come;
    bool left_out = false;
    for (const unit& u : fresh) {
      if (!left_out && is_same(u, v)) {
        left_out = true;
        continue;
      }
      come.push_back({.gpus = u.what->each[0], .pods = u.core ? 1U : u.what->least});
    }
    std::vector<std::size_t> order(come.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() > 6) return false;
    do {
      allot::sim::places q = p;
      bool all = true;
      for (const std::size_t i : order) all = all && q.place(come[i]).has_value();
      if (all) return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  allot_test::random_source& random_;
  kind of_;
  std::int64_t nodes_ = 0;
  std::int64_t each_ = 0;
  scheduler_type scheduler_;
  std::vector<quota_id> leaves_;
  std::deque<work> jobs_;
  allot::instant now_ = 0;
  std::string log_;
  /// For each job that comes, that which left of it; else past the end.
  std::vector<std::size_t> pairs_;
};

/// How many jobs went and came back for nothing, of a thousand evictions at most: without elastic jobs, and
/// with.
struct bounds {
  std::size_t rigid;
  std::size_t elastic;
};

template <class Guard>
void check(const bounds& most) {
  for (const bool is_elastic : {false, true}) {
    tally t;
    for (std::size_t resources = 1; resources <= 3; ++resources) {
      for (const bool has_nodes : {false, true}) {
        allot_test::for_each_seed(300, [&](allot_test::random_source& random) {
          world<Guard> w{random, {resources, has_nodes, is_elastic}};
          const std::size_t before = t.detours;
          w.live(t);
          if (t.detours != before && std::getenv("ALLOT_SEED") != nullptr) MESSAGE(w.log());
        });
      }
    }
    CAPTURE(is_elastic);
    MESSAGE(t.detours << " detours, " << t.evictions << " evictions");
    if (!allot_test::all_cases_run()) continue;
    CHECK(t.evictions > 2000);
    CHECK(t.detours * 1000 <= t.evictions * (is_elastic ? most.elastic : most.rigid));
  }
}

}  // namespace

// What is left: by its turn the beneficiary could preempt no others, but it could have if jobs of the plan
// had been started in another order; guards that judge shares say so then.
TEST_CASE("no detour: borrowers and owners") {
  check<allot::eligible_is_fair>({1, 1});
}
TEST_CASE("no detour: rivals by the final share") {
  check<allot::final_share>({14, 10});
}
TEST_CASE("no detour: rivals by the initial share") {
  check<allot::initial_share>({7, 5});
}
TEST_CASE("no detour: rivals by the final share, then the initial") {
  check<allot::final_then_initial_share>({12, 6});
}

TEST_CASE("no detour: a victim with a claim of its own stays, and its own victim leaves") {
  allot_test::host<allot::no_placement, guarded<allot::initial_share>> h{
      {{.name = "root", .nominal = gpus(5)},
       {.name = "q1", .parent = "root"},
       {.name = "q2", .parent = "root"},
       {.name = "q3", .parent = "root"}}};
  h.submit("a", "q1", 2, {.priority = 0});
  h.submit("b", "q1", 1, {.priority = 1});
  h.submit("c", "q1", 2, {.priority = 1});
  h.settle();
  h.submit("d", "q2", 2);
  CHECK(h.settle() == "-a>d ~d +d");
  h.submit("e", "q3", 1);
  // Not d, of the lowest priority, which would then evict c.
  CHECK(h.settle() == "-c>e ~e +e");
}

TEST_CASE("no detour: a victim that takes back what its department owns stays, and its own victim leaves") {
  allot_test::host<allot::no_placement, guarded<allot::eligible_is_fair>> h{
      {{.name = "root"},
       {.name = "department", .parent = "root", .nominal = gpus(2)},
       {.name = "guest", .parent = "department"},
       {.name = "team", .parent = "department", .nominal = gpus(2)},
       {.name = "other", .parent = "root"}}};
  for (const quota_id x : h.scheduler().tree().top_down()) {
    REQUIRE(h.scheduler().configure(x, allot::standard{}.defaults()).empty());
  }
  h.submit("a", "guest", 2, {.priority = 0});
  h.submit("b", "other", 2, {.priority = 1});
  CHECK(h.settle() == "+a +b");
  h.submit("c", "team", 2);
  // Not a, of the lowest priority, which would then evict b: its quota owns nothing, but the department does.
  CHECK(h.settle() == "-b>c ~c +c");
}
