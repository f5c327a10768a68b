// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/metrics.hpp>
#include <allot/quota/loans.hpp>
#include <allot/sim/observers.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/rich_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::fifo;
using allot::instant;
using allot::quantity;
using allot::standard;
using allot::static_quotas;
using allot::wide;
using allot::lab::metrics;
using allot::lab::run_figures;
using allot::sim::job;

namespace {

template <class Preset>
run_figures measured(allot::sim::setup<1> s, allot::lab::time_window window = {}) {
  metrics<1> m{{.window = window}};
  const auto sim = run<Preset>(std::move(s), m);
  return m.figures(sim);
}

/// Two evictions of a job of 8 GPUs that borrows 4: it runs at 0-45, 65-67 and 77-152.
allot::sim::setup<1> evicted_twice() {
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20), job_of(a, 4, 67, 10)};
  jobs[0].checkpoint = 30 * second;
  jobs[0].restart = 5 * second;
  return world<standard>(siblings({4, 4}), std::move(jobs));
}

}  // namespace

TEST_CASE("metrics: two evictions, worked by hand") {
  const run_figures f = measured<standard>(evicted_twice());
  CHECK(f.of.jobs == allot::lab::job_counts{.total = 3, .completed = 3});
  CHECK(f.first_submit == 0);
  CHECK(f.end == 152 * second);
  CHECK(f.makespan() == 152 * second);
  // 152, 20 and 10 seconds.
  CHECK(f.of.jct.mean() == 60'667);
  CHECK(f.of.jct.p50 == 20 * second);
  CHECK(f.of.jct.max == 152 * second);
  CHECK(f.of.queue.max == 0);
  CHECK(f.of.wait.max == 30 * second);
  CHECK(f.of.max_wait == 0);
  CHECK(f.of.preemptions == 2);
  CHECK(f.preemptions_by[static_cast<std::size_t>(allot::relation::borrower)] == 2);
  CHECK(f.of.lost == gpu_seconds(8 * 22));
  CHECK(f.of.allocated == gpu_seconds(8 * 122 + 4 * 30));
  CHECK(f.capacity == gpu_seconds(8 * 152));
  CHECK(f.idle == gpu_seconds(4 * 30));
  CHECK(f.stranded == 0);
  CHECK(f.of.borrowed == gpu_seconds(4 * 122));
  CHECK(f.of.lent == gpu_seconds(4 * 122));
  // While a's jobs run, b is entitled to its own 4 and has nothing.
  CHECK(f.of.fair_share_error == gpu_seconds(4 * 30));
  CHECK(f.active == 152 * second);
  CHECK(f.jain == wide{122'000} * 1'000'000'000 + wide{30'000} * 500'000'000);

  REQUIRE(f.quotas.size() == 3);
  const auto& of_a = f.quotas[a.index()];
  const auto& of_b = f.quotas[b.index()];
  CHECK(f.quotas[root.index()].of.jobs.total == 0);
  CHECK(of_a.of.jobs.completed == 2);
  CHECK(of_a.of.allocated == gpu_seconds(4 * 30));
  CHECK(of_a.of.lent == gpu_seconds(4 * 122));
  CHECK(of_a.of.borrowed == 0);
  CHECK(of_a.of.fair_share_error == 0);
  CHECK(of_a.satisfaction == wide{30'000} * 1'000'000);
  CHECK(of_a.active == 30 * second);
  CHECK(of_b.of.jct.p50 == 152 * second);
  CHECK(of_b.of.preemptions == 2);
  CHECK(of_b.of.lost == f.of.lost);
  CHECK(of_b.of.borrowed == gpu_seconds(4 * 122));
  CHECK(of_b.satisfaction == wide{122'000} * 1'000'000);
  CHECK(of_b.active == 152 * second);
}

TEST_CASE("metrics: a window of the same run") {
  const run_figures whole = measured<standard>(evicted_twice());
  CHECK(whole.window.begin == 0);
  CHECK(whole.window.end == 152 * second);
  CHECK(whole.of.submitted == 3);
  CHECK(whole.lost_of_allocated == whole.of.lost);
  CHECK(whole.largest_fair_share_error() == gpu_seconds(4 * 30));
  // b's job has 8 GPUs until 45, and from 65 to 67; a's have 4 in between and from 67 on.
  const run_figures f = measured<standard>(evicted_twice(), {40 * second, 70 * second});
  CHECK(f.window.begin == 40 * second);
  CHECK(f.window.end == 70 * second);
  CHECK(f.of.submitted == 2);
  CHECK(f.capacity == gpu_seconds(8 * 30));
  CHECK(f.of.allocated == gpu_seconds(8 * 5 + 4 * 20 + 8 * 2 + 4 * 3));
  // Its work from the checkpoint at 30 to 45, and a restart.
  CHECK(f.of.lost == gpu_seconds(8 * 5 + 8 * 2));
  CHECK(f.lost_of_allocated == f.of.lost);
  CHECK(f.of.borrowed == gpu_seconds(4 * 7));
  CHECK(f.active == 30 * second);
  // Preemptions are those in the window, of whatever jobs, times of the jobs submitted in it.
  CHECK(f.of.preemptions == 2);
  CHECK(f.of.preempted_jobs == 1);
  CHECK(f.quotas[a.index()].of.preemptions == 0);
  CHECK(f.quotas[b.index()].of.lost == f.of.lost);
  CHECK(f.of.jct.count == 2);
  CHECK(f.of.jct.max == 20 * second);
  CHECK(f.makespan() == 152 * second);
  // In one that ends before the second eviction there is the first, and what was lost by then.
  const run_figures early = measured<standard>(evicted_twice(), {40 * second, 66 * second});
  CHECK(early.of.preemptions == 1);
  CHECK(early.preemptions_by[static_cast<std::size_t>(allot::relation::borrower)] == 1);
  CHECK(early.of.lost == gpu_seconds(8 * 5 + 8 * 1));
  // A window after everything is empty.
  const run_figures late = measured<standard>(evicted_twice(), {500 * second, 600 * second});
  CHECK(late.window.begin == late.window.end);
  CHECK(late.capacity == 0);
  CHECK(late.of.allocated == 0);
  CHECK(late.of.preemptions == 0);
  CHECK(late.of.lost == 0);
  CHECK(late.of.jct.count == 0);
}

TEST_CASE(
    "metrics: windows that divide the time divide preemptions and lost time, which the histories tell") {
  allot_test::for_each_seed(60, [](allot_test::random_source& random) {
    const auto given = allot_test::make_random_world(random);
    const instant cut = random.between(1, 40) * second;
    metrics<1> whole{{}};
    metrics<1> before{{.window = {std::numeric_limits<instant>::min(), cut}}};
    metrics<1> after{{.window = {cut, std::numeric_limits<instant>::max()}}};
    allot::sim::observers<1> all{&whole, &before, &after};
    const auto sim = run<standard>(given.setup_for<standard>(), all);
    const run_figures f = whole.figures(sim);
    const run_figures early = before.figures(sim);
    const run_figures late = after.figures(sim);
    std::uint64_t preemptions = 0;
    wide lost = 0;
    for (allot::sim::job_index j = 0; j < sim.jobs().size(); ++j) {
      const auto& h = sim.history(j);
      preemptions += h.preemptions;
      const auto of_a_pod = static_cast<wide>(whole.gpus(sim, j)) / sim.jobs()[j].pods();
      lost += of_a_pod * static_cast<wide>(h.work.lost());
    }
    CHECK(f.of.preemptions == preemptions);
    CHECK(f.of.lost == lost);
    CHECK(early.of.preemptions + late.of.preemptions == preemptions);
    CHECK(early.of.lost + late.of.lost == lost);
    CHECK(early.pods_given_up + late.pods_given_up == f.pods_given_up);
    CHECK(early.over_preempted + late.over_preempted == f.over_preempted);
    for (std::size_t r = 0; r < f.preemptions_by.size(); ++r) {
      CHECK(early.preemptions_by[r] + late.preemptions_by[r] == f.preemptions_by[r]);
    }
  });
}

TEST_CASE("metrics: waiting counts from the submission, and for those that never start until the end") {
  // a has 4 GPUs. Job 0 takes them for 10 s; 1 waits for it; 2 asks for more than there will ever be.
  std::vector<job<1>> jobs = {job_of(a, 4, 5, 10), job_of(a, 1, 7, 20), job_of(a, 5, 8, 1)};
  const run_figures f = measured<static_quotas>(world<static_quotas>(siblings({4}), std::move(jobs)));
  CHECK(f.of.jobs == allot::lab::job_counts{.total = 3, .completed = 2, .unfinished = 1, .waiting = 1});
  CHECK(f.first_submit == 5 * second);
  CHECK(f.end == 35 * second);
  CHECK(f.of.queue.count == 2);
  CHECK(f.of.queue.max == 8 * second);
  CHECK(f.of.wait.max == 8 * second);
  CHECK(f.of.max_wait == 27 * second);
  CHECK(f.of.jct.max == 28 * second);
  CHECK(f.capacity == gpu_seconds(4 * 30));
  CHECK(f.of.allocated == gpu_seconds(4 * 10 + 20));
}

TEST_CASE("metrics: refused and cancelled jobs are counted, but in no mean") {
  auto s = world<fifo>(siblings({2}), {job_of(a, 3, 0, 1), job_of(a, 2, 10, 10), job_of(a, 1, 11, 10),
                                       job_of(a, 1, 12, 5), job_of(a, 1, 99, 1)});
  s.where = nodes(1, 2);
  // One running, one pending, and one not yet submitted.
  s.cancels = {{14 * second, 1}, {13 * second, 2}, {50 * second, 4}};
  const run_figures f = measured<fifo>(std::move(s));
  CHECK(f.of.jobs == allot::lab::job_counts{.total = 5, .completed = 1, .refused = 1, .cancelled = 3});
  // The time begins with an accepted job, and the last run ends with job 3.
  CHECK(f.first_submit == 10 * second);
  CHECK(f.end == 19 * second);
  CHECK(f.of.jct.count == 1);
  CHECK(f.of.jct.max == 7 * second);
  CHECK(f.of.queue.count == 2);
  CHECK(f.of.max_wait == 2 * second);
  CHECK(f.of.allocated == gpu_seconds(2 * 4 + 5));
  CHECK(f.capacity == gpu_seconds(2 * 9));
}

TEST_CASE("metrics: fragmentation is the idle part of nodes that are partly in use") {
  // Two nodes of 4. One GPU is used for 10 s, then none for 5, then 5 for 10: a whole node and 1 of the
  // other.
  auto s = world<fifo>(siblings({8}), {job_of(a, 1, 0, 10), job_of(a, 5, 15, 10)});
  s.where = nodes(2, 4);
  const run_figures f = measured<fifo>(std::move(s));
  CHECK(f.capacity == gpu_seconds(8 * 25));
  CHECK(f.idle == gpu_seconds(7 * 10 + 8 * 5 + 3 * 10));
  CHECK(f.stranded == gpu_seconds(3 * 10 + 3 * 10));
}

TEST_CASE("metrics: quotas without bound and no nodes have no capacity") {
  auto specs = siblings({4});
  specs[0].nominal = allot::resources<1>{quantity::unlimited()};
  const run_figures f = measured<standard>(world<standard>(std::move(specs), {job_of(a, 40, 0, 10)}));
  CHECK_FALSE(f.capacity_is_bounded);
  CHECK(f.capacity == 0);
  CHECK(f.of.allocated == gpu_seconds(400));
  CHECK(f.of.borrowed == gpu_seconds(360));
}

TEST_CASE("metrics: an empty simulation") {
  const run_figures f = measured<standard>(world<standard>(siblings({4}), {}));
  CHECK(f.of.jobs.total == 0);
  CHECK(f.makespan() == 0);
  CHECK(f.jain == 0);
  CHECK(f.active == 0);
}

TEST_CASE("metrics: the state after every instant is that of the simulator") {
  auto s = evicted_twice();
  metrics<1> m;
  std::vector<std::string> lines;
  each_instant<1> watch{[&](const auto& sim) {
    const auto& now = m.now(b);
    lines.push_back(std::to_string(sim.now() / second) + ": " + std::to_string(now.used) + ' ' +
                    std::to_string(now.entitled) + ' ' + std::to_string(now.borrowed) + ' ' +
                    std::to_string(m.now(a).lent) + ' ' + std::to_string(now.pending) + ' ' +
                    std::to_string(m.used()));
  }};
  allot::sim::observers<1> both{&m, &watch};
  const auto sim = run<standard>(std::move(s), both);
  CHECK(lines == std::vector<std::string>{"0: 8000 8000 4000 4000 0 8000", "45: 0 4000 0 0 1 4000",
                                          "65: 8000 8000 4000 4000 0 8000", "67: 0 4000 0 0 1 4000",
                                          "77: 8000 8000 4000 4000 0 8000", "152: 0 0 0 0 0 0"});
  CHECK(m.waits().total(0, sim.now()) == 30 * second);
  CHECK(m.waits().before_start(0) == instant{0});
  CHECK(m.capacity() == gpus(8));
}

namespace {

/// Evaluates everything in full at every instant, and adds up the integrals from that.
struct slow_metrics final : allot::sim::observer<1> {
  struct moment {
    std::int64_t used = 0;
    std::int64_t entitled = 0;
    std::int64_t borrowed = 0;
    std::int64_t lent = 0;
    bool active = false;
  };
  struct picture {
    instant at = 0;
    std::vector<moment> of;
    std::int64_t stranded = 0;
    std::int64_t capacity = 0;
    std::int64_t used = 0;
    std::int64_t largest_gang = 0;
    bool lacks_place = false;
  };
  std::vector<picture> pictures;
  allot::lab::time_window window{};
  bool lacks_place = false;
  std::optional<instant> first_submit;
  instant end = 0;
  bool ended = false;

  void on(const allot::sim::simulator<1>& sim, const allot::sim::job_event<1>& e) override {
    using kind = allot::sim::job_event_kind;
    if (e.what == kind::submitted && !first_submit) first_submit = sim.now();
    ended = ended || e.what == kind::evicted || e.what == kind::finished;
  }
  void waiting(allot::sim::simulator<1>& sim) override {
    using allot::lab::wait_cause;
    lacks_place = false;
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      if (sim.history(j).outcome != allot::sim::job_outcome::waiting) continue;
      const wait_cause c = allot::lab::cause_of(sim.why(j));
      lacks_place = lacks_place || c == wait_cause::fragmentation || c == wait_cause::capacity;
    }
  }
  void settled(const allot::sim::simulator<1>& sim) override {
    if (ended) end = sim.now();
    ended = false;
    allot::division<1> fair;
    fair.update(sim.accounts(), sim.demand());
    const allot::loan_book<1> loans{sim.accounts()};
    picture p;
    p.at = sim.now();
    p.lacks_place = lacks_place;
    for (std::size_t x = 0; x < sim.accounts().tree().slots(); ++x) {
      const quota_id q{x};
      p.of.push_back({sim.accounts().own_usage(q, 0).in_milli(), fair.own(q)[0].in_milli(),
                      loans.borrowed(q, 0).in_milli(), loans.lent(q, 0).in_milli(),
                      sim.demand()[x][0] > quantity{}});
      p.used += p.of.back().used;
    }
    // All nodes have the same number of GPUs.
    int largest_rest = 0;
    if (sim.places().has_nodes()) {
      const auto& inventory = sim.places().inventory();
      for (std::size_t n = 0; n < inventory.layout().size(); ++n) {
        const allot::gpu::node_id node{n};
        const quantity used = inventory.index().used(node);
        // The free rest of a failed or drained node can't be used.
        const bool is_closed = inventory.is_closed(node);
        p.capacity += (is_closed ? used : gpus(inventory.layout().gpus(node))).in_milli();
        if (is_closed) continue;
        p.largest_gang += used == quantity{} ? inventory.layout().gpus(node) : 0;
        largest_rest = std::max(largest_rest,
                                used == quantity{} ? 0 : std::popcount(inventory.index().free_devices(node)));
        if (used > quantity{}) p.stranded += (gpus(inventory.layout().gpus(node)) - used).in_milli();
      }
    }
    p.largest_gang += largest_rest;
    pictures.push_back(std::move(p));
  }

  /// Adds up `value(picture)` from the first submission on, up to `until`.
  template <class Value>
  [[nodiscard]] wide integral(instant until, Value value) const {
    wide sum = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const instant from = std::max({pictures[i].at, first_submit.value_or(0), window.begin});
      const instant next = i + 1 < pictures.size() ? pictures[i + 1].at : pictures[i].at;
      const instant to = std::min({next, until, window.end});
      if (from < to) sum += static_cast<wide>(value(pictures[i])) * static_cast<wide>(to - from);
    }
    return sum;
  }
};

/// Compares the state of each quota at each instant with what the ledger and the demand say, in all
/// dimensions together. It comes after the metrics.
struct states_recomputed final : allot::sim::observer<8> {
  explicit states_recomputed(const metrics<8>& m) : seen(m) {}
  const metrics<8>& seen;

  void settled(const allot::sim::simulator<8>& sim) override {
    allot::division<8> fair;
    fair.update(sim.accounts(), sim.demand());
    const allot::loan_book<8> loans{sim.accounts()};
    const auto changed = seen.changed();
    REQUIRE(seen.quotas() == sim.accounts().tree().slots());
    before.resize(seen.quotas());
    for (std::size_t x = 0; x < seen.quotas(); ++x) {
      const quota_id q{x};
      allot::lab::quota_moment is;
      for (std::size_t d = 0; d < 8; ++d) {
        is.used += sim.accounts().own_usage(q, d).in_milli();
        is.entitled += fair.own(q)[d].in_milli();
        is.borrowed += loans.borrowed(q, d).in_milli();
        is.lent += loans.lent(q, d).in_milli();
      }
      is.pending = sim.waiting()[x];
      const allot::lab::quota_moment now = seen.now(q);
      REQUIRE(now.used == is.used);
      REQUIRE(now.entitled == is.entitled);
      REQUIRE(now.pending == is.pending);
      // A book rounds at each quota above.
      REQUIRE(std::abs(now.borrowed - is.borrowed) <= 8 * 4);
      REQUIRE(std::abs(now.lent - is.lent) <= 8 * 4);
      const bool is_same = is.used == before[x].used && is.pending == before[x].pending;
      REQUIRE((is_same || std::binary_search(changed.begin(), changed.end(), q)));
      before[x] = is;
    }
  }
  std::vector<allot::lab::quota_moment> before{};
};

}  // namespace

TEST_CASE("metrics: at every instant the state of a quota is that of a division and a loan book") {
  for_each_seed(100, [](random_source& random) {
    metrics<8> fast{{.gpus = allot::per_dimension<bool, 8>{true}}};
    states_recomputed recomputed{fast};
    allot::sim::observers<8> both{&fast, &recomputed};
    static_cast<void>(run<allot::standard>(make_rich_world(random), both));
  });
}

TEST_CASE("metrics: every integral agrees with a naive observer on random workloads") {
  for_each_seed(150, [](random_source& random) {
    random_world given = make_random_world(random);
    // A running job that is withdrawn ends a run; the naive observer can't tell it from a pending one.
    given.cancels.clear();
    std::optional<allot::lab::time_window> part;
    if (random.one_in(2)) {
      const instant from = random.between(0, 60) * second;
      part = {from, from + random.between(0, 60) * second};
    }
    allot::for_each_preset([&](auto preset) {
      using preset_type = decltype(preset);
      INFO("under " << preset_type::name);
      slow_metrics slow;
      if (part) slow.window = *part;
      metrics<1> fast{{.window = slow.window}};
      allot::sim::observers<1> both{&fast, &slow};
      const auto sim = run<preset_type>(given.setup_for<preset_type>(), both);
      const run_figures f = fast.figures(sim);
      REQUIRE(f.end == slow.end);
      REQUIRE(f.first_submit == slow.first_submit.value_or(0));
      const instant last = sim.now();
      for (std::size_t x = 0; x < given.specs.size(); ++x) {
        const auto& of = f.quotas[x].of;
        const auto same = [&](wide figure, auto value) {
          return figure == slow.integral(last, [&](const auto& p) { return value(p.of[x]); });
        };
        REQUIRE(same(of.allocated, [](const auto& m) { return m.used; }));
        // A book rounds at each quota above.
        const auto near = [&](wide figure, auto value) {
          const wide exact = slow.integral(last, [&](const auto& p) { return value(p.of[x]); });
          return (figure < exact ? exact - figure : figure - exact) <= 4 * static_cast<wide>(last);
        };
        REQUIRE(near(of.borrowed, [](const auto& m) { return m.borrowed; }));
        REQUIRE(near(of.lent, [](const auto& m) { return m.lent; }));
        REQUIRE(same(of.fair_share_error,
                     [](const auto& m) { return std::max<std::int64_t>(0, m.entitled - m.used); }));
        REQUIRE(same(static_cast<wide>(f.quotas[x].active), [](const auto& m) { return m.active ? 1 : 0; }));
      }
      REQUIRE(f.of.lent == slow.integral(last, [](const auto& p) {
        std::int64_t all = 0;
        for (const auto& m : p.of) all += m.lent;
        return all;
      }));
      if (!given.nodes.empty()) {
        REQUIRE(f.capacity == slow.integral(slow.end, [](const auto& p) { return p.capacity; }));
        REQUIRE(f.idle == slow.integral(slow.end, [](const auto& p) { return p.capacity - p.used; }));
        REQUIRE(f.idle_while_unplaceable == slow.integral(slow.end, [](const auto& p) {
          return p.lacks_place ? p.capacity - p.used : 0;
        }));
        REQUIRE(f.largest_gang == slow.integral(slow.end, [](const auto& p) { return p.largest_gang; }));
        // The smallest is a value that is never undercut.
        if (f.smallest_largest_gang) {
          const std::int64_t least = *f.smallest_largest_gang;
          REQUIRE(slow.integral(slow.end, [&](const auto& p) { return p.largest_gang < least ? 1 : 0; }) ==
                  0);
          REQUIRE(slow.integral(slow.end, [&](const auto& p) { return p.largest_gang == least ? 1 : 0; }) >
                  0);
        }
      }
      REQUIRE(f.stranded == slow.integral(slow.end, [](const auto& p) { return p.stranded; }));
      REQUIRE(f.jain == slow.integral(last, [](const slow_metrics::picture& p) {
        std::vector<std::int64_t> shares;
        for (const auto& m : p.of) {
          if (m.active) shares.push_back(allot::lab::millionths(std::min(m.used, m.entitled), m.entitled));
        }
        if (shares.empty()) return std::int64_t{0};
        const allot::ratio index = allot::lab::jain_index(shares);
        // The largest number of billionths that is not above it.
        std::int64_t low = 0;
        std::int64_t high = 1'000'000'000;
        while (low < high) {
          const std::int64_t middle = (low + high + 1) / 2;
          (allot::ratio{static_cast<wide>(middle), 1'000'000'000} <= index ? low : high) =
              allot::ratio{static_cast<wide>(middle), 1'000'000'000} <= index ? middle : middle - 1;
        }
        return low;
      }));
    });
  });
}
