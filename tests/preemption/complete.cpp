// SPDX-License-Identifier: BSL-1.0
// Law 12: where some order of victims makes room, each of which may be preempted after those before it, the
// search finds one in a small world, and never says that there is none. All sets of victims that can be
// reached are tried here, by breadth and with the rules for one job at a time.
#include <allot/core/vector.hpp>
#include <allot/extras/disruption_budget.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/presets/hyperpod.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::preempt_borrow;
using allot::preempt_reclaim;
using allot::preempt_within;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::relation;
using allot::resources;
using allot::running_job;
using allot::search_outcome;
using allot_test::random_source;

namespace {

/// Nodes in racks of two. A gang has equal pods; they stand on any nodes, or in one rack.
template <std::size_t N>
struct floor_of {
  struct stand {
    std::size_t node = 0;
    resources<N> uses{};
  };
  std::vector<resources<N>> free;
  /// By job.
  std::vector<std::vector<stand>> stands;
  resources<N> pod{};
  std::size_t pods = 1;
  bool in_one_rack = false;

  void take_off(const running_job<N>& j) {
    for (const stand& s : stands[j.id.index()]) free[s.node] += s.uses;
  }
  void put_back(const running_job<N>& j) {
    for (const stand& s : stands[j.id.index()]) free[s.node] -= s.uses;
  }
  [[nodiscard]] static std::size_t room(const resources<N>& has, const resources<N>& each) {
    std::int64_t most = 1000;
    for (std::size_t d = 0; d < N; ++d) {
      if (each[d] > quantity{}) most = std::min(most, has[d].in_milli() / each[d].in_milli());
    }
    return static_cast<std::size_t>(std::max<std::int64_t>(0, most));
  }
  [[nodiscard]] bool could_place() const {
    std::size_t all = 0;
    std::size_t best = 0;
    for (std::size_t n = 0; n < free.size(); n += 2) {
      std::size_t rack = room(free[n], pod);
      if (n + 1 < free.size()) rack += room(free[n + 1], pod);
      all += rack;
      best = std::max(best, rack);
    }
    return (in_one_rack ? best : all) >= pods;
  }
  /// Puts a gang on the nodes from `from` on; false if there is no room.
  bool put(std::size_t gang, const resources<N>& each, std::size_t from) {
    std::vector<stand> at;
    for (std::size_t k = 0; k < free.size() && at.size() < gang; ++k) {
      const std::size_t n = (from + k) % free.size();
      for (std::size_t fits = room(free[n], each); fits > 0 && at.size() < gang; --fits)
        at.push_back({n, each});
    }
    if (at.size() < gang) return false;
    for (const stand& s : at) free[s.node] -= s.uses;
    stands.push_back(std::move(at));
    return true;
  }
};

/// The same, and it answers what-if questions.
template <std::size_t N>
struct foreseeing : floor_of<N> {
  floor_of<N> supposed{};

  [[nodiscard]] bool begin_what_if() { return supposed = *this, true; }
  void gone(const running_job<N>& j) { supposed.take_off(j); }
  void back(const running_job<N>& j) { supposed.put_back(j); }
  [[nodiscard]] bool helps(const running_job<N>&) const { return true; }
  [[nodiscard]] bool would_fit() const { return supposed.could_place(); }
  [[nodiscard]] bool might_fit_without(std::span<const allot::possible_victims>) const { return true; }
};
static_assert(allot::what_if_world<foreseeing<2>, 2>);

template <std::size_t N>
struct world {
  ledger<N> l;
  allot::running_index<N> running;
  std::vector<running_job<N>> jobs;
  beneficiary<N> b;
  foreseeing<N> places;

  explicit world(allot::quota_tree<N> tree) : l(std::move(tree)) { running.resize(l.tree().slots()); }

  [[nodiscard]] bool fits() const { return l.fits(b.quota, b.request, b.in) && places.could_place(); }
  void take_off(const running_job<N>& j) {
    l.release(j.quota, j.request, j.in);
    places.take_off(j);
  }
  void put_back(const running_job<N>& j) {
    l.charge(j.quota, j.request, j.in);
    places.put_back(j);
  }
  /// A gang that runs, on the first nodes with room from `node` on; false if its quota or they have none.
  bool run(quota_id x, std::size_t gang, const resources<N>& pod, std::size_t node, std::int64_t priority = 0,
           std::optional<job_id> core = {}) {
    running_job<N> j;
    j.id = job_id{jobs.size()};
    j.quota = x;
    j.priority = priority;
    j.started = j.submitted = static_cast<std::int64_t>(jobs.size());
    j.order = jobs.size();
    j.request = pod * static_cast<std::int64_t>(gang);
    j.elastic = core.has_value();
    if (core) j.core = *core;
    if (!l.fits(x, j.request) || !places.put(gang, pod, node)) return false;
    l.charge(x, j.request);
    running.insert(j);
    jobs.push_back(j);
    return true;
  }
  void ask(quota_id x, std::size_t gang, const resources<N>& pod, std::int64_t priority = 0) {
    places.pod = pod;
    places.pods = gang;
    b.quota = x;
    b.request = pod * static_cast<std::int64_t>(gang);
    b.priority = priority;
  }
};

/// Whether a job may be preempted with those gone that are gone in the ledger.
template <std::size_t N>
bool may_be_taken(const world<N>& w, const running_job<N>& j, const std::array<bool, N>& at_first) {
  const auto contested = contested_dimensions(w.l, w.b);
  const allot::quota_tree<N>& tree = w.l.tree();
  if (j.quota == w.b.quota) {
    return uses_any<N>(j.request, contested) && may_preempt(w.b, j, relation::same_quota);
  }
  const quota_id top = tree.common_ancestor(j.quota, w.b.quota);
  if (!top || top == j.quota) return false;
  if (top == w.b.quota && w.b.may.children) return uses_any<N>(j.request, contested);
  if (!uses_any<N>(j.request, reclaimable_dimensions(w.l, j.quota, top, contested))) return false;
  const quota_id side = top == w.b.quota ? quota_id::none() : tree.side_of(w.b.quota, top);
  // Who may also take what is not its own must own all that it asked for at first.
  const bool allowed = w.l.fits(w.b.quota, w.b.request, w.b.in);
  const auto& asked = asks_others(w.b) && !allowed ? at_first : contested;
  if (owns_request(w.l, w.b, side, asked) && may_preempt(w.b, j, relation::borrower)) return true;
  resources<N> yields = j.request;
  w.running.for_each_elastic_pod(j, [&](const running_job<N>& unit) { yields += unit.request; });
  return may_preempt(w.b, j, relation::borrower_while_borrowing) &&
         keeps_its_own(w.l, j.quota, top, yields, asked);
}

/// Whether some order of victims makes room.
template <std::size_t N>
bool some_order_makes_room(world<N>& w) {
  const auto at_first = contested_dimensions(w.l, w.b);
  const auto point = w.l.save();
  std::vector<std::uint32_t> sets{0};
  std::set<std::uint32_t> seen{0};
  bool found = false;
  for (std::size_t next = 0; next < sets.size() && !found; ++next) {
    const std::uint32_t set = sets[next];
    const auto each = [&](auto act) {
      for (std::size_t i = 0; i < w.jobs.size(); ++i) {
        if ((set >> i & 1U) != 0) act(w.jobs[i]);
      }
    };
    each([&](const running_job<N>& j) { w.take_off(j); });
    found = w.fits();
    // A job that goes takes its pods along.
    for (std::size_t i = 0; i < w.jobs.size() && !found; ++i) {
      std::uint32_t more = set | 1U << i;
      const running_job<N>& j = w.jobs[i];
      if (more == set) continue;
      allot::running_index<N> rest = w.running;
      each([&](const running_job<N>& gone) { rest.erase(gone); });
      std::swap(rest, w.running);
      const bool may = may_be_taken(w, j, at_first);
      std::swap(rest, w.running);
      if (!may) continue;
      for (std::size_t k = 0; k < w.jobs.size(); ++k) {
        if (w.jobs[k].elastic && w.jobs[k].core == j.id) more |= 1U << k;
      }
      if (seen.insert(more).second) sets.push_back(more);
    }
    each([&](const running_job<N>& j) { w.put_back(j); });
  }
  w.l.rollback(point);
  return found;
}

template <std::size_t N, class Order = allot::lowest_priority_then_highest_share>
using search_by = allot::victim_search<N, Order, allot::eligible_is_fair>;

/// What the search says; its victims make room, and each is needed for that.
template <class Search, std::size_t N, class Places>
search_outcome outcome_of(Search&& find, world<N>& w, Places& places) {
  const ledger<N> before = w.l;
  const auto free = places.free;
  const auto point = w.l.save();
  const search_outcome outcome = find.run(w.l, w.running, w.b, places);
  w.l.rollback(point);
  CHECK(w.l == before);
  if (outcome == search_outcome::found) {
    const auto other = w.l.save();
    for (const auto& v : find.victims()) w.take_off(v.job);
    CHECK(w.places.free == places.free);
    CHECK(w.fits());
    for (const auto& v : find.victims()) w.put_back(v.job);
    w.l.rollback(other);
  }
  places.free = free;
  return outcome;
}

}  // namespace

TEST_CASE("complete: an owner is served though a second resource is counted and its victims stand apart") {
  // Two nodes of two GPUs. The newest stand on different nodes, and who borrows may lose two jobs.
  for (const std::size_t order : {0U, 1U}) {
    world<2> w{
        allot::build_quota_tree<2>({{.name = "root", .nominal = {gpus(4), gpus(128)}, .inclusive = true},
                                    {.name = "q1", .parent = "root", .nominal = {gpus(2), gpus(64)}},
                                    {.name = "q2", .parent = "root", .nominal = {gpus(2), gpus(64)}}})
            .value()};
    w.places.free = {{gpus(2), gpus(64)}, {gpus(2), gpus(64)}};
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(w.run(quota_id{2}, 1, {gpus(1), gpus(1)}, (i + order) % 2));
    w.ask(quota_id{1}, 1, {gpus(2), gpus(2)});
    REQUIRE(some_order_makes_room(w));
    search_by<2> find;
    CHECK(outcome_of(find, w, w.places) == search_outcome::found);
    CHECK(find.victims().size() == 2);
  }
}

namespace {

/// Up to six nodes and twelve jobs.
template <std::size_t N>
world<N> random_world(random_source& random) {
  const bool flat = random.one_in(2);
  std::vector<quota_spec<N>> specs;
  if (flat) {
    // Teams that own parts of the cluster, and lend.
    const std::size_t teams = 2 + random.below(3);
    specs.push_back({.name = "root"});
    for (std::size_t i = 0; i < teams; ++i) {
      quota_spec<N> s{.name = std::to_string(i), .parent = "root"};
      if (random.one_in(4) && i > 0) s.parent = std::to_string(random.below(i));
      for (std::size_t d = 0; d < N; ++d) {
        s.nominal[d] = gpus(random.between(0, d > 0 && random.one_in(2) ? 100 : 8));
        if (random.one_in(4)) s.borrow[d] = allot::limit::at_most(gpus(random.between(0, 8)));
        if (random.one_in(6)) s.lend[d] = allot::limit::at_most(gpus(random.between(0, 4)));
      }
      specs.push_back(s);
    }
  } else {
    specs =
        allot_test::random_quotas<N>(random, {.most_quotas = 6, .one_root_in = 20, .one_unlimited_in = 0});
  }
  world<N> w{allot::build_quota_tree<N>(std::move(specs)).value()};
  const std::size_t nodes = 1 + random.below(6);
  std::array<std::int64_t, N> each{};
  for (std::size_t d = 0; d < N; ++d) each[d] = d > 0 && random.one_in(2) ? 100 : random.between(2, 8);
  for (std::size_t n = 0; n < nodes; ++n) {
    resources<N> has;
    for (std::size_t d = 0; d < N; ++d) has[d] = gpus(each[d]);
    w.places.free.push_back(has);
  }
  const auto quotas = w.l.tree().top_down();
  const auto pod = [&](std::int64_t most) {
    resources<N> r;
    for (std::size_t d = 0; d < N; ++d) {
      r[d] = gpus(d > 0 && random.one_in(4) ? 0 : random.between(d == 0 ? 0 : 1, most));
    }
    return r;
  };
  for (int tries = 0; tries < 30 && w.jobs.size() < 12; ++tries) {
    const quota_id x = random.pick(quotas);
    const std::size_t gang = random.one_in(3) ? 1 + random.below(3) : 1;
    const std::int64_t priority = random.between(0, 2);
    const resources<N> size = pod(4);
    if (!w.run(x, gang, size, random.below(nodes), priority)) continue;
    const job_id core = w.jobs.back().id;
    while (random.one_in(4) && w.jobs.size() < 12) w.run(x, 1, size, random.below(nodes), priority, core);
  }
  w.ask(random.pick(quotas), random.one_in(2) ? 1 + random.below(4) : 1, pod(6), random.between(0, 3));
  w.places.in_one_rack = random.one_in(5);
  w.b.submitted = random.between(0, 12);
  w.b.may = {.within = random.pick(std::array{preempt_within::never, preempt_within::lower_priority,
                                              preempt_within::lower_or_newer_equal}),
             .reclaim = random.pick(
                 std::array{preempt_reclaim::lower_priority, preempt_reclaim::any, preempt_reclaim::any}),
             .children = random.one_in(4)};
  if (random.one_in(6)) w.b.may.borrow = preempt_borrow::lower_priority;
  return w;
}

struct tally {
  std::size_t possible = 0;
  std::size_t impossible = 0;
};

template <std::size_t N>
void check_one(random_source& random, tally& count) {
  world<N> w = random_world<N>(random);
  if (w.fits()) return;
  const bool some = some_order_makes_room(w);
  const search_outcome expected = some ? search_outcome::found : search_outcome::impossible;
  floor_of<N> plain = w.places;
  CHECK(outcome_of(search_by<N>{}, w, plain) == expected);
  CHECK(outcome_of(search_by<N>{}, w, w.places) == expected);
  CHECK(outcome_of(search_by<N, allot::hyperpod_victim_order>{}, w, w.places) == expected);
  ++(some ? count.possible : count.impossible);
}

}  // namespace

TEST_CASE("complete: in small worlds it finds victims if and only if some order of them makes room") {
  tally count;
  allot_test::for_each_seed(15'000, [&](random_source& random) {
    check_one<1>(random, count);
    check_one<2>(random, count);
    check_one<3>(random, count);
  });
  MESSAGE("possible " << count.possible << ", impossible " << count.impossible);
  if (allot_test::all_cases_run()) {
    CHECK(count.possible > 500);
    CHECK(count.impossible > 500);
  }
}

namespace {

/// A cluster of nodes with eight GPUs, full of jobs of teams that borrow; and a gang of an owner, within its
/// nominal, for which those on some nodes may go one after another: no team has to give all its jobs there
/// more than it borrows, but for the last.
template <std::size_t N>
world<N> planted_world(random_source& random, std::size_t nodes, std::size_t pods, bool tight) {
  constexpr std::array<std::int64_t, 3> of_node{8, 64, 512};
  const std::size_t teams = 3 + random.below(4);
  const auto each = [&](std::int64_t of_gpus) {
    resources<N> r;
    for (std::size_t d = 0; d < N; ++d) {
      const std::int64_t share = of_gpus * of_node[d] / 8;
      r[d] = gpus(d == 0 ? share : random.between(1, tight ? share : (share + 1) / 2));
    }
    return r;
  };
  resources<N> node;
  for (std::size_t d = 0; d < N; ++d) node[d] = gpus(of_node[d]);
  // Where who stands is settled first, without quotas, and then what they own.
  std::vector<quota_spec<N>> specs{{.name = "root"}, {.name = "owner", .parent = "root"}};
  for (std::size_t t = 0; t < teams; ++t) specs.push_back({.name = std::to_string(t), .parent = "root"});
  for (std::size_t d = 0; d < N; ++d) specs[0].nominal[d] = node[d] * static_cast<std::int64_t>(nodes);
  world<N> w{allot::build_quota_tree<N>(specs).value()};
  w.places.free.assign(nodes, node);
  for (std::size_t fails = 0; fails < 20;) {
    const std::size_t gang = random.one_in(6) ? 2 + random.below(3) : 1;
    const auto one = each(random.pick(std::array<std::int64_t, 6>{1, 1, 2, 2, 4, 8}));
    const quota_id team{2 + random.below(teams)};
    fails += w.run(team, gang, one, random.below(nodes), random.between(0, 1)) ? 0U : 1U;
  }
  std::vector<std::size_t> order(nodes);
  for (std::size_t n = 0; n < nodes; ++n) order[n] = n;
  random.shuffle(order);
  order.resize(pods);
  std::vector<resources<N>> gives(teams + 2);
  std::vector<resources<N>> most(teams + 2);
  std::vector<resources<N>> uses(teams + 2);
  for (const auto& j : w.jobs) {
    const std::size_t x = j.quota.index();
    uses[x] += j.request;
    const auto& at = w.places.stands[j.id.index()];
    if (std::none_of(at.begin(), at.end(), [&](const auto& s) {
          return std::find(order.begin(), order.end(), s.node) != order.end();
        })) {
      continue;
    }
    gives[x] += j.request;
    for (std::size_t d = 0; d < N; ++d) most[x][d] = std::max(most[x][d], j.request[d]);
  }
  w.ask(quota_id{1}, pods, node);
  for (std::size_t d = 0; d < N; ++d) {
    const bool binds = d == 0 || tight;
    // The owner's request is as large as a node only in what binds.
    if (!binds) w.places.pod[d] = gpus(1);
    quantity owned = specs[0].nominal[d];
    for (std::size_t t = 2; t < teams + 2; ++t) {
      quantity borrows = gpus(random.between(0, 2));
      if (gives[t][d] > quantity{}) {
        borrows = std::max(gpus(1), gives[t][d] - gpus(random.between(0, most[t][d].in_milli() / 1000 - 1)));
      }
      specs[t].nominal[d] = binds ? std::max(quantity{}, uses[t][d] - borrows) : specs[0].nominal[d];
      owned -= specs[t].nominal[d];
    }
    const quantity wanted = w.places.pod[d] * static_cast<std::int64_t>(pods);
    for (std::size_t t = 2; binds && owned < wanted; t = t + 1 < teams + 2 ? t + 1 : 2) {
      if (specs[t].nominal[d] == quantity{}) continue;
      specs[t].nominal[d] -= gpus(1);
      owned += gpus(1);
    }
    specs[1].nominal[d] = binds ? owned : specs[0].nominal[d];
    specs[0].nominal[d] = {};
  }
  w.ask(quota_id{1}, pods, w.places.pod);
  world<N> planted{allot::build_quota_tree<N>(specs).value()};
  planted.b = w.b;
  planted.places = w.places;
  planted.jobs = w.jobs;
  for (const auto& j : w.jobs) {
    planted.l.charge(j.quota, j.request);
    planted.running.insert(j);
  }
  return planted;
}

/// How many planted worlds were searched, and in how many victims were found.
struct score {
  std::size_t worlds = 0;
  std::size_t found = 0;
  std::size_t jobs = 0;
};
template <std::size_t N>
void search_planted(std::size_t nodes, std::size_t pods, bool tight, std::string& line, score& all) {
  score here;
  allot_test::for_each_seed(20, [&](random_source& random) {
    world<N> w = planted_world<N>(random, nodes, pods, tight);
    if (w.fits()) return;
    const search_outcome outcome = outcome_of(search_by<N>{}, w, w.places);
    CHECK(outcome != search_outcome::impossible);
    ++here.worlds;
    here.found += outcome == search_outcome::found ? 1U : 0U;
    here.jobs += w.jobs.size();
  });
  all.worlds += here.worlds;
  all.found += here.found;
  line += " | " + std::to_string(here.found) + " of " + std::to_string(here.worlds);
  if (N == 1) line.insert(0, std::to_string(here.jobs / std::max<std::size_t>(1, here.worlds)) + " jobs");
}

}  // namespace

TEST_CASE("complete: in large worlds it finds nearly all planted victims, and never says there are none") {
  score all;
  for (const bool tight : {false, true}) {
    for (const std::size_t nodes : {8U, 16U, 32U, 64U, 128U}) {
      for (const std::size_t pods : {1U, 2U, 4U}) {
        std::string line = " on " + std::to_string(nodes) + " nodes, " + std::to_string(pods) + " pods" +
                           (tight ? ", all resources borrowed" : "");
        search_planted<1>(nodes, pods, tight, line, all);
        search_planted<2>(nodes, pods, tight, line, all);
        search_planted<3>(nodes, pods, tight, line, all);
        if (allot_test::long_run()) MESSAGE(line);
      }
    }
  }
  if (allot_test::all_cases_run()) CHECK(100 * all.found > 97 * all.worlds);
}
