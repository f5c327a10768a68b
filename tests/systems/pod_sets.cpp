// SPDX-License-Identifier: BSL-1.0
// Jobs whose pods differ: `pod_set_view`.
#include <allot/core/pod_counts.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::job_state;
using allot::pod_set_id;
using allot::refusal;
using allot_test::random_source;

namespace {

struct work {
  std::string name{};
  allot::quota_id quota{};
  std::vector<gpu::pod_set> sets{};
  std::uint8_t required = gpu::any_level;
  std::int64_t priority = 0;
  bool preemptible = true;
  /// By set: whether its further pods may be evicted all the same.
  std::vector<bool> semi{};

  [[nodiscard]] std::uint32_t most() const {
    std::uint32_t sum = 0;
    for (const auto& s : sets) sum += s.pods;
    return sum;
  }
  [[nodiscard]] std::uint32_t least() const {
    std::uint32_t sum = 0;
    for (const auto& s : sets) sum += s.fewest();
    return sum;
  }
  [[nodiscard]] allot::pods_by_set divided(std::uint32_t pods) const {
    return gpu::pod_set_list{sets.data(), static_cast<std::uint32_t>(sets.size())}.divide(pods);
  }
};

/// A job is a pointer; all pods of a job with one set are alike to the scheduler.
struct set_view {
  using job = const work*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return request(j, j->most()); }
  std::int64_t priority(job j) const { return j->priority; }
  bool preemptible(job j) const { return j->preemptible; }
  bool preemptible(job j, pod_set_id s) const { return s.index() < j->semi.size() && j->semi[s.index()]; }
  std::uint32_t pods(job j) const { return j->most(); }
  std::uint32_t min_pods(job j) const { return j->least(); }
  allot::resources<> request(job j, std::uint32_t pods) const {
    allot::resources<> sum;
    if (j->sets.size() == 1) return allot::resources<>{j->sets[0].each.gpus} * pods;
    const auto of = j->divided(pods);
    for (std::size_t s = 0; s < j->sets.size(); ++s) sum += allot::resources<>{j->sets[s].each.gpus} * of[s];
    return sum;
  }
  std::uint32_t pod_sets(job j) const { return static_cast<std::uint32_t>(j->sets.size()); }
  std::uint32_t pods(job j, pod_set_id s) const { return j->sets[s.index()].pods; }
  std::uint32_t min_pods(job j, pod_set_id s) const { return j->sets[s.index()].fewest(); }
  allot::resources<> request(job j, pod_set_id s) const { return j->sets[s.index()].each.gpus; }
  gpu::pod_request pod_request(job j) const { return pod_request(j, j->most()); }
  gpu::pod_request pod_request(job j, std::uint32_t pods) const {
    gpu::pod_request r;
    if (j->sets.size() == 1) {
      r = j->sets[0].of(pods, {});
      r.required_level = j->required;
      return r;
    }
    r.sets = {j->sets.data(), static_cast<std::uint32_t>(j->sets.size())};
    r.pods = pods;
    r.required_level = j->required;
    return r;
  }
  gpu::pod_request pod_request(job j, pod_set_id s) const {
    gpu::pod_request r = pod_request(j, 1);
    r.one_of = static_cast<std::uint8_t>(s.index());
    return r;
  }
};
static_assert(allot::pod_set_view<set_view>);
static_assert(allot::semi_preemptible_view<set_view>);
static_assert(allot::near_request<gpu::topology_inventory>);

constexpr std::uint8_t rack = 0;

/// Two racks of four nodes with eight GPUs.
gpu::topology_inventory nodes() {
  std::vector<gpu::node_spec> specs;
  for (const char name : {'a', 'b'}) {
    gpu::node_spec s;
    s.name = std::string{name};
    s.count = 4;
    s.gpus = 8;
    s.labels = {{"rack", std::string{name}}};
    specs.push_back(std::move(s));
  }
  gpu::cluster all = gpu::build_cluster(std::move(specs)).value();
  gpu::topology near = gpu::topology_from_labels(all, {"rack"}).value();
  return gpu::topology_inventory{std::move(all), std::move(near)};
}

template <class Preset>
struct host {
  using scheduler_type = allot::scheduler_for<Preset, set_view, gpu::topology_inventory>;

  host()
      : of(allot::make_scheduler(
               Preset{}, set_view{},
               std::vector<allot::quota_spec<>>{{.name = "root"},
                                                {.name = "x", .parent = "root", .nominal = gpus(32)},
                                                {.name = "y", .parent = "root", .nominal = gpus(32)}},
               nodes())
               .value()) {
    for (const char* team : {"x", "y"}) {
      auto s = of.settings(of.tree().find(team));
      s.preempt.reclaim = allot::preempt_reclaim::any;
      if (!of.configure(of.tree().find(team), s).empty()) continue;
    }
  }

  allot::submission submit(const std::string& name, const char* team, std::vector<gpu::pod_set> sets,
                           std::uint8_t required = gpu::any_level, std::int64_t priority = 0,
                           bool preemptible = true, std::vector<bool> semi = {}) {
    jobs.push_back(
        {name, of.tree().find(team), std::move(sets), required, priority, preemptible, std::move(semi)});
    const allot::submission answer = of.submit(&jobs.back());
    if (answer) ids[name] = answer.id;
    return answer;
  }
  /// One step, carried out at once: who is evicted leaves. "+name" a core starts, "+name/set" a pod, "-..."
  /// they are evicted.
  std::string step(instant now) {
    std::string line;
    const auto& plan = of.step(now);
    std::vector<job_id> gone;
    const auto say = [&](const char* sign, const work* j, job_id core, job_id id) {
      line.append(line.empty() ? "" : " ").append(sign).append(j->name);
      if (core) line.append("/").append(std::to_string(set_of[id]));
    };
    for (const auto& e : plan.evictions) {
      gone.push_back(e.id);
      CHECK((e.what->preemptible || (e.core && set_view{}.preemptible(e.what, of.set_of(e.id)))));
      say("-", e.what, e.core, e.id);
    }
    for (const auto& a : plan.admissions) {
      if (a.core) set_of[a.id] = set_at(a.what, a.id);
      say("+", a.what, a.core, a.id);
    }
    for (const job_id id : gone) CHECK(of.evicted(id) == refusal::none);
    return line;
  }
  /// The set of a further pod, as its GPUs tell.
  std::size_t set_at(const work* j, job_id id) const {
    const auto request = of.request(id);
    for (std::size_t s = 0; s < j->sets.size(); ++s) {
      if (allot::resources<>{j->sets[s].each.gpus} == request) return s;
    }
    return j->sets.size();
  }
  /// How many pods of each set run.
  [[nodiscard]] std::vector<std::uint32_t> running(const std::string& name) const {
    const job_id core = ids.at(name);
    const work* const j = of.what(core);
    std::vector<std::uint32_t> has(j->sets.size());
    if (of.state(core) != job_state::running) return has;
    // What an elastic job started with may be more than its minimums (Kueue).
    std::uint32_t pods = 0;
    for (const auto& p : of.places().pods(of.place_of(core))) static_cast<void>(p), ++pods;
    const auto of_core = j->divided(pods);
    for (std::size_t s = 0; s < has.size(); ++s) has[s] = of_core[s];
    for (const job_id pod : of.elastic_pods_of(core)) {
      if (of.state(pod) == job_state::running) ++has[set_at(j, pod)];
    }
    return has;
  }

  scheduler_type of;
  std::deque<work> jobs;
  std::map<std::string, job_id> ids;
  std::map<job_id, std::size_t> set_of;
};

/// A router, and roles that grow: two to four of two GPUs, one to three of four.
std::vector<gpu::pod_set> service() {
  return {{.each = {.gpus = gpus(1)}},
          {.each = {.gpus = gpus(2)}, .pods = 4, .min_pods = 2},
          {.each = {.gpus = gpus(4)}, .pods = 3, .min_pods = 1}};
}

}  // namespace

TEST_CASE("pod_sets: which set grows next") {
  const auto counts = [](std::uint64_t all) {
    const std::vector<std::uint32_t> least{1, 2, 1}, most{1, 4, 3};
    const auto has = allot::pods_of_sets(
        3, [&](std::size_t s) { return least[s]; }, [&](std::size_t s) { return most[s]; }, all);
    return std::vector<std::uint32_t>(has.begin(), has.begin() + 3);
  };
  // Fewer than the minimums: the first.
  CHECK(counts(0) == std::vector<std::uint32_t>{0, 0, 0});
  CHECK(counts(2) == std::vector<std::uint32_t>{1, 1, 0});
  CHECK(counts(4) == std::vector<std::uint32_t>{1, 2, 1});
  CHECK(counts(5) == std::vector<std::uint32_t>{1, 3, 1});
  CHECK(counts(6) == std::vector<std::uint32_t>{1, 3, 2});
  CHECK(counts(8) == std::vector<std::uint32_t>{1, 4, 3});
  CHECK(counts(80) == std::vector<std::uint32_t>{1, 4, 3});
  // However many come at once, they are those that come one by one.
  allot_test::for_each_seed(200, [](random_source& random) {
    const std::size_t sets = 1 + random.below(5);
    allot::pods_by_set least{};
    allot::pods_by_set most{};
    allot::pods_by_set has{};
    for (std::size_t s = 0; s < sets; ++s) {
      has[s] = least[s] = static_cast<std::uint32_t>(random.below(3));
      most[s] = least[s] + static_cast<std::uint32_t>(random.below(9));
    }
    const auto least_of = [&](std::size_t s) { return least[s]; };
    const auto most_of = [&](std::size_t s) { return most[s]; };
    std::uint64_t all = 0;
    for (const std::uint32_t pods : has) all += pods;
    for (;; ++all) {
      CHECK(allot::pods_of_sets(sets, least_of, most_of, all) == has);
      const std::size_t next = allot::next_to_grow(sets, least_of, most_of, has);
      if (next == sets) break;
      ++has[next];
    }
    CHECK(allot::pods_of_sets(sets, least_of, most_of, all + 5) == has);
  });
  const auto large = allot::pods_of_sets(
      2, [](std::size_t) { return 1U; },
      [](std::size_t s) { return s == 0 ? 4'000'000'000U : 1'000'000'001U; }, 2'500'000'002U);
  CHECK(large[0] == 2'000'000'001U);
  CHECK(large[1] == 500'000'001U);
}

TEST_CASE(
    "pod_sets: roles start with their minimums, grow evenly in their rack, shrink to them, and grow back") {
  host<allot::standard> h;
  REQUIRE(h.submit("service", "x", service(), rack));
  CHECK(h.step(0) == "+service +service/1 +service/2 +service/1 +service/2");
  CHECK(h.running("service") == std::vector<std::uint32_t>{1, 4, 3});
  std::map<char, int> racks;
  for (const auto& [name, id] : h.ids) {
    for (const auto& p : h.of.places().pods(h.of.place_of(id)))
      ++racks[h.of.places().layout().name(p.where.node)[0]];
    for (const job_id pod : h.of.elastic_pods_of(id)) {
      for (const auto& p : h.of.places().pods(h.of.place_of(pod)))
        ++racks[h.of.places().layout().name(p.where.node)[0]];
    }
  }
  CHECK(racks.size() == 1);
  // The owner of the other half, and of what the service has beyond x's own: nothing. So it borrows first.
  REQUIRE(h.submit("more", "x", {{.each = {.gpus = gpus(8)}, .pods = 4}}));
  CHECK(h.step(1) == "+more");
  // y takes its 32 back: further pods of x go before a job does as a whole.
  REQUIRE(h.submit("owner", "y",
                   {{.each = {.gpus = gpus(8)}, .pods = 3}, {.each = {.gpus = gpus(1)}, .pods = 8}}));
  std::string line = h.step(2);
  CHECK(line.find("-service ") == std::string::npos);
  for (instant t = 3; t < 8; ++t) line += " " + h.step(t);
  CHECK(line.find("+owner") != std::string::npos);
  CHECK(h.of.finished(h.ids["owner"]) == refusal::none);
  for (instant t = 8; t < 12; ++t) static_cast<void>(h.step(t));
  CHECK(h.running("service") == std::vector<std::uint32_t>{1, 4, 3});
  CHECK(h.running("more") == std::vector<std::uint32_t>{4});
}

TEST_CASE("pod_sets: what does not add up is refused") {
  struct wrong_view : set_view {
    using set_view::pods;
    std::uint32_t pods(job j) const { return j->most() + 1; }
  };
  auto s = allot::make_scheduler(allot::standard{}, wrong_view{},
                                 std::vector<allot::quota_spec<>>{{.name = "q", .nominal = gpus(8)}}, nodes())
               .value();
  const work one{"w", s.tree().find("q"), {{.each = {.gpus = gpus(1)}}, {.each = {.gpus = gpus(2)}}}};
  CHECK(s.submit(&one).why_not == refusal::invalid_request);
  host<allot::standard> h;
  CHECK(h.submit("too large", "x", {{.each = {.gpus = gpus(9)}}, {.each = {.gpus = gpus(1)}}}).why_not ==
        refusal::larger_than_cluster);
  CHECK(h.submit("too many", "x", std::vector<gpu::pod_set>(17, {.each = {.gpus = gpus(1)}})).why_not ==
        refusal::invalid_request);
}

TEST_CASE("pod_sets: pods that run already are adopted as of their sets") {
  host<allot::standard> h;
  std::vector<gpu::pod_set> sets{{.each = {.gpus = gpus(1)}, .pods = 2, .min_pods = 1},
                                 {.each = {.gpus = gpus(2)}, .pods = 2, .min_pods = 1}};
  const work job{.name = "j", .quota = h.of.tree().find("x"), .sets = sets};
  const set_view view;
  const auto place = [&](const gpu::pod_request& r) {
    std::vector<gpu::pod_location> at;
    for (std::size_t n = 0; n < (r.one_of == gpu::every_set ? 2 : 1); ++n) at.push_back({gpu::node_id{n}, 0});
    return h.of.take_place(r, at).value();
  };
  const auto core = h.of.adopt(&job, 0, place(view.pod_request(&job, 2)));
  REQUIRE(core);
  SUBCASE("in the order in which they grow") {
    const auto first = h.of.adopt_elastic_pod(core.id, 0, place(view.pod_request(&job, pod_set_id{0})));
    const auto second = h.of.adopt_elastic_pod(core.id, 0, place(view.pod_request(&job, pod_set_id{1})));
    REQUIRE(first);
    REQUIRE(second);
    CHECK(h.of.set_of(first.id) == pod_set_id{0});
    CHECK(h.of.set_of(second.id) == pod_set_id{1});
    CHECK(h.of.adopt_elastic_pod(core.id, 0, {}).why_not == refusal::has_all_pods);
  }
  SUBCASE("as the host says") {
    const auto first =
        h.of.adopt_elastic_pod(core.id, 0, place(view.pod_request(&job, pod_set_id{1})), pod_set_id{1});
    REQUIRE(first);
    CHECK(h.of.set_of(first.id) == pod_set_id{1});
    CHECK(h.of.adopt_elastic_pod(core.id, 0, {}, pod_set_id{1}).why_not == refusal::has_all_pods);
    CHECK(h.of.adopt_elastic_pod(core.id, 0, {}, pod_set_id{2}).why_not == refusal::has_all_pods);
    // The one that is left grows by itself.
    const auto plan = h.of.step(1);
    REQUIRE(plan.admissions.size() == 1);
    CHECK(h.of.set_of(plan.admissions[0].id) == pod_set_id{0});
  }
  CHECK(h.of.ledger().own_usage(job.quota)[0] == gpus(6));
}

TEST_CASE("pod_sets: how many pods the sets of a running job may have changes") {
  host<allot::standard> h;
  REQUIRE(h.submit("service", "x", service(), rack));
  CHECK(h.step(0) == "+service +service/1 +service/2 +service/1 +service/2");
  const job_id id = h.ids["service"];
  work& job = h.jobs.back();
  // Elsewhere in memory, as a host's table may be.
  const auto change = [&](auto how) {
    std::vector<gpu::pod_set> sets = job.sets;
    how(sets);
    job.sets.swap(sets);
    const refusal answer = h.of.update(id);
    if (answer != refusal::none) job.sets.swap(sets);
    return answer;
  };
  CHECK(change([](auto& sets) { sets[1].pods = 6; }) == refusal::none);
  CHECK(h.step(1) == "+service/1 +service/1");
  CHECK(h.running("service") == std::vector<std::uint32_t>{1, 6, 3});
  // What runs stays until the host has said which have gone, of each set.
  CHECK(change([](auto& sets) { sets[1].pods = 5; }) == refusal::request_in_use);
  CHECK(change([](auto& sets) { --sets[1].pods, ++sets[2].pods; }) == refusal::request_in_use);
  for (const job_id pod : h.of.elastic_pods_of(id)) {
    if (h.set_of[pod] != 1) continue;
    CHECK(h.of.finished(pod) == refusal::none);
    break;
  }
  CHECK(change([](auto& sets) { --sets[1].pods, ++sets[2].pods; }) == refusal::none);
  CHECK(h.step(2) == "+service/2");
  CHECK(h.running("service") == std::vector<std::uint32_t>{1, 5, 4});
  // Nor does what its core needs change, or what a pod requests.
  CHECK(change([](auto& sets) { sets[1].min_pods = 3; }) == refusal::request_in_use);
  CHECK(change([](auto& sets) { sets[2].each.gpus = gpus(2); }) == refusal::request_in_use);
  CHECK(change([](auto& sets) { sets.pop_back(); }) == refusal::request_in_use);
  CHECK(change([](auto& sets) { sets[1].each.memory_mib = 1; }) == refusal::request_in_use);
  CHECK(change([](auto&) {}) == refusal::none);
}

TEST_CASE("pod_sets: pods on a failed node are replaced in the rack, and further ones stand beside them") {
  host<allot::standard> h;
  REQUIRE(h.submit("service", "x",
                   {{.each = {.gpus = gpus(1)}}, {.each = {.gpus = gpus(8)}, .pods = 3, .min_pods = 2}},
                   rack));
  CHECK(h.step(0) == "+service +service/1");
  const job_id id = h.ids["service"];
  const auto where = [&](job_id unit) {
    std::string text;
    for (const auto& p : h.of.places().pods(h.of.place_of(unit)))
      text += h.of.places().layout().name(p.where.node) + " ";
    return text;
  };
  CHECK(where(id) == "a-2 a-0 a-1 ");
  REQUIRE(h.of.elastic_pods_of(id).size() == 1);
  const job_id pod = h.of.elastic_pods_of(id)[0];
  CHECK(where(pod) == "a-3 ");
  CHECK(h.of.replace_pods(job_id{77}) == refusal::unknown_job);
  // With nothing lost nothing changes.
  CHECK(h.of.replace_pods(id) == refusal::none);
  const auto fail = [&](std::size_t n) {
    h.of.nodes().close(gpu::node_id{n});
    h.of.retry();
  };
  // No room in the rack, though the other one is empty; the job waits, and is not evicted for it.
  fail(1);
  CHECK(h.of.replace_pods(id) == refusal::no_room);
  CHECK(h.step(1).empty());
  CHECK(h.of.state(id) == job_state::running);
  const auto usage = h.of.ledger().own_usage(h.of.tree().find("x"));
  // A further pod gives way.
  CHECK(h.of.evicted(pod) == refusal::none);
  CHECK(h.of.replace_pods(id) == refusal::none);
  CHECK(where(id) == "a-2 a-0 a-3 ");
  CHECK(h.of.ledger().own_usage(h.of.tree().find("x")) == usage - allot::resources<>{gpus(8)});
  CHECK(h.step(2).empty());
  // When a node of the rack is back, the job grows there.
  h.of.nodes().reopen(gpu::node_id{1});
  h.of.retry();
  CHECK(h.step(3) == "+service/1");
  CHECK(where(h.of.elastic_pods_of(id)[0]) == "a-1 ");
  CHECK(h.of.finished(id) == refusal::none);
  CHECK(h.of.places().used() == gpus(0));
  CHECK(h.of.replace_pods(id) == refusal::unknown_job);
}

TEST_CASE("pod_sets: of a semi-preemptible job the minimum is safe, and what is above it is lent") {
  host<allot::standard> h;
  const std::vector<gpu::pod_set> sets{{.each = {.gpus = gpus(1)}, .pods = 4, .min_pods = 1},
                                       {.each = {.gpus = gpus(4)}, .pods = 12, .min_pods = 2}};
  const auto reclaim = [&] {
    REQUIRE(h.submit("owner", "y", {{.each = {.gpus = gpus(8)}, .pods = 4}}));
    std::string all;
    for (instant t = 2; t < 6; ++t) all += h.step(t) + " ";
    return all;
  };
  SUBCASE("of each set that says so") {
    REQUIRE(h.submit("train", "x", sets, gpu::any_level, 0, false, {false, true}));
    static_cast<void>(h.step(0));
    // The first set grows on what x owns, the other one borrows, too.
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 12});
    const std::string line = reclaim();
    CHECK(line.find("-train/0") == std::string::npos);
    CHECK(line.find("-train ") == std::string::npos);
    CHECK(line.find("+owner") != std::string::npos);
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 7});
    // Not even for what has priority: the minimum, and the pods that are not to go, stay.
    REQUIRE(h.submit("first", "x", {{.each = {.gpus = gpus(8)}, .pods = 3}}, gpu::any_level, 9));
    for (instant t = 6; t < 9; ++t) static_cast<void>(h.step(t));
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 7});
    CHECK(h.of.cancel(h.ids["first"]) == refusal::none);
    REQUIRE(h.submit("second", "x", {{.each = {.gpus = gpus(4)}, .pods = 5}}, gpu::any_level, 9));
    for (instant t = 9; t < 12; ++t) static_cast<void>(h.step(t));
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 2});
    CHECK(h.running("second") == std::vector<std::uint32_t>{5});
  }
  SUBCASE("not of one that does not") {
    REQUIRE(h.submit("train", "x", sets, gpu::any_level, 0, false));
    static_cast<void>(h.step(0));
    CHECK(h.of.ledger().own_usage(h.of.tree().find("x"))[0] <= gpus(32));
    CHECK(reclaim().find("-train") == std::string::npos);
  }
  SUBCASE("where all pods are alike") {
    REQUIRE(h.submit("train", "x", {sets[1]}, gpu::any_level, 0, false, {true}));
    static_cast<void>(h.step(0));
    CHECK(h.running("train") == std::vector<std::uint32_t>{12});
    CHECK(reclaim().find("-train ") == std::string::npos);
    CHECK(h.running("train") == std::vector<std::uint32_t>{8});
  }
  SUBCASE("from the next update on") {
    REQUIRE(h.submit("train", "x", sets, gpu::any_level, 0, false, {false, true}));
    static_cast<void>(h.step(0));
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 12});
    h.jobs.back().semi[1] = false;
    CHECK(h.of.update(h.ids["train"]) == refusal::none);
    CHECK(reclaim().find("-train") == std::string::npos);
    h.jobs.front().semi[1] = true;
    CHECK(h.of.update(h.ids["train"]) == refusal::none);
    std::string line;
    for (instant t = 6; t < 9; ++t) line += h.step(t) + " ";
    CHECK(line.find("+owner") != std::string::npos);
    CHECK(h.running("train") == std::vector<std::uint32_t>{4, 7});
  }
  SUBCASE("after a restart") {
    REQUIRE(h.submit("train", "x", sets, gpu::any_level, 0, false, {false, true}));
    static_cast<void>(h.step(0));
    host<allot::standard> next;
    next.jobs = h.jobs;
    const auto state = h.of.state();
    const auto answer = next.of.resume(state, [&](const auto& u) -> std::optional<gpu::allocation_id> {
      std::vector<gpu::pod_location> at;
      for (const auto& p : h.of.places().pods(u.where)) at.push_back(p.where);
      const set_view view;
      return next.of.take_place(
          u.core ? view.pod_request(u.what, pod_set_id{u.set}) : view.pod_request(u.what, u.pods), at);
    });
    CHECK(answer.refused.empty());
    for (const job_id pod : next.of.elastic_pods_of(h.ids["train"]))
      next.set_of[pod] = next.of.set_of(pod).index();
    next.ids = h.ids;
    REQUIRE(next.submit("owner", "y", {{.each = {.gpus = gpus(8)}, .pods = 4}}));
    std::string line;
    for (instant t = 2; t < 6; ++t) line += next.step(t) + " ";
    CHECK(line.find("+owner") != std::string::npos);
    CHECK(line.find("-train/0") == std::string::npos);
    CHECK(next.running("train") == std::vector<std::uint32_t>{4, 7});
  }
}

TEST_CASE("pod_sets: the sets of a job may go with it") {
  host<allot::standard> h;
  const allot::quota_id x = h.of.tree().find("x");
  // As many GPUs in as many sets, one after the other in the same memory.
  for (const bool fits : {false, true, false, true}) {
    auto job = std::make_unique<work>(work{.name = "j", .quota = x});
    job->sets = {{.each = {.gpus = gpus(fits ? 4 : 8)}, .pods = 4},
                 {.each = {.gpus = gpus(fits ? 8 : 4)}, .pods = 4}};
    job->sets[0].each.memory_mib = fits ? 0 : 1;
    const auto other = std::make_unique<work>(*job);
    const auto a = h.of.submit(job.get());
    const auto b = h.of.submit(other.get());
    REQUIRE(a);
    REQUIRE(b);
    CHECK(h.of.step(1).admissions.size() == 1);
    h.of.finished(a.id);
    job.reset();
    // Whether that is in one class with the job that is gone is compared.
    const auto next = std::make_unique<work>(*other);
    const auto c = h.of.submit(next.get());
    REQUIRE(c);
    CHECK(h.of.step(2).admissions.size() == 1);
    h.of.finished(b.id);
    CHECK(h.of.step(3).admissions.size() == 1);
    h.of.finished(c.id);
  }
}

TEST_CASE_TEMPLATE("pod_sets: random jobs keep their minimums, their racks and the ledger's sums", Preset,
                   allot::standard, allot::kueue, allot::runai) {
  std::size_t grown = 0;
  std::size_t shrunk = 0;
  std::size_t whole = 0;
  std::size_t replaced = 0;
  allot_test::for_each_seed(60, [&](random_source& random) {
    host<Preset> h;
    const auto check = [&] {
      std::map<std::string, allot::resources<>> uses;
      for (const auto& [name, id] : h.ids) {
        if (h.of.state(id) == job_state::unknown) continue;
        const work* const j = h.of.what(id);
        const std::string team{h.of.tree().name(j->quota)};
        const bool runs = h.of.state(id) == job_state::running;
        std::optional<gpu::domain_id> in;
        const auto look = [&](job_id unit, const std::vector<std::size_t>& sets) {
          std::size_t i = 0;
          for (const auto& p : h.of.places().pods(h.of.place_of(unit))) {
            REQUIRE(i < sets.size());
            CHECK(gpus(gpu::count_devices(p.where.devices)) == j->sets[sets[i++]].each.gpus);
            const gpu::domain_id d = h.of.places().nearness()->domain_of(p.where.node, rack);
            if (j->required == rack && in) CHECK(*in == d);
            in = d;
          }
          CHECK(i == sets.size());
        };
        if (runs) {
          const auto has = h.running(name);
          std::uint32_t pods = 0;
          for (const auto& p : h.of.places().pods(h.of.place_of(id))) static_cast<void>(p), ++pods;
          const auto of_core = j->divided(pods);
          std::vector<std::size_t> sets;
          for (std::size_t s = 0; s < j->sets.size(); ++s) {
            CHECK(has[s] >= j->sets[s].fewest());
            CHECK(has[s] <= j->sets[s].pods);
            uses[team] += allot::resources<>{j->sets[s].each.gpus} * has[s];
            sets.insert(sets.end(), of_core[s], s);
          }
          look(id, sets);
        }
        for (const job_id pod : h.of.elastic_pods_of(id)) {
          if (h.of.state(pod) != job_state::running) continue;
          CHECK(runs);
          look(pod, {h.set_at(j, pod)});
        }
      }
      // All that was to leave has left.
      for (const char* team : {"x", "y"})
        CHECK(h.of.ledger().own_usage(h.of.tree().find(team)) == uses[team]);
    };
    for (instant t = 0; t < 40; ++t) {
      if (random.one_in(2)) {
        std::vector<gpu::pod_set> sets(1 + random.below(3));
        const std::vector<std::int64_t> sizes{1, 2, 4};
        for (std::size_t s = 0; s < sets.size(); ++s) {
          sets[s].each.gpus = gpus(sizes[s]);
          sets[s].pods = static_cast<std::uint32_t>(1 + random.below(4));
          sets[s].min_pods = static_cast<std::uint32_t>(1 + random.below(sets[s].pods));
        }
        static_cast<void>(h.submit("j" + std::to_string(t), random.one_in(2) ? "x" : "y", std::move(sets),
                                   random.one_in(2) ? rack : gpu::any_level,
                                   static_cast<std::int64_t>(random.below(2)), random.one_in(2),
                                   {random.one_in(2), random.one_in(2), random.one_in(2)}));
      }
      if (random.one_in(4) && !h.ids.empty()) {
        const job_id id = random.pick(h.ids).second;
        if (h.of.state(id) == job_state::running) CHECK(h.of.finished(id) == refusal::none);
      }
      if (random.one_in(10)) {
        const gpu::node_id n{random.below(8)};
        h.of.places().is_closed(n) ? h.of.nodes().reopen(n) : h.of.nodes().close(n);
        h.of.retry();
        for (const auto& [name, id] : h.ids) {
          if (h.of.state(id) != job_state::running || h.of.places().usable(h.of.place_of(id))) continue;
          const bool is_replaced = h.of.replace_pods(id) == refusal::none;
          replaced += is_replaced ? 1U : 0U;
          CHECK(is_replaced == h.of.places().usable(h.of.place_of(id)));
        }
      }
      const std::string line = h.step(t);
      for (std::size_t at = 0; (at = line.find_first_of("+-", at)) != std::string::npos; ++at) {
        const std::string word = line.substr(at, line.find(' ', at) - at);
        const bool is_pod = word.find('/') != std::string::npos;
        ++(word[0] == '-' ? (is_pod ? shrunk : whole) : is_pod ? grown : whole);
      }
      check();
      if (random.one_in(8)) {
        // A new scheduler goes on from what this one knew.
        host<Preset> next;
        const auto state = h.of.state();
        std::map<job_id, gpu::allocation_id> at;
        const auto answer = next.of.resume(state, [&](const auto& u) -> std::optional<gpu::allocation_id> {
          std::vector<gpu::pod_location> where;
          for (const auto& p : h.of.places().pods(u.where)) where.push_back(p.where);
          gpu::pod_request r = set_view{}.pod_request(u.what, u.pods);
          if (u.core) r = set_view{}.pod_request(u.what, pod_set_id{u.set});
          return next.of.take_place(r, where);
        });
        CHECK(answer.refused.empty());
        if (answer.refused.empty()) CHECK(next.of.state().units.size() == state.units.size());
      }
    }
  });
  if (allot_test::all_cases_run()) {
    CHECK(whole > 500);
    CHECK(replaced > 10);
    // Under Kueue a job that starts with fewer pods does not get more.
    if (!std::is_same_v<Preset, allot::kueue>) {
      CHECK(grown > 100);
      CHECK(shrunk > 10);
    }
  }
}
