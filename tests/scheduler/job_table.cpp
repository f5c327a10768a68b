// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/pod_request.hpp>
#include <allot/scheduler/detail/job_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace {

using allot::capacity_kind;
using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot_test::random_source;

struct least {
  using job = int;
  allot::quota_id quota(job j) const { return allot::quota_id{static_cast<std::size_t>(j) % 7}; }
  allot::resources<> request(job j) const { return gpus(j); }
  int priority(job j) const { return -j; }
};
/// What a placement may request: it can be compared for equality, but has no order.
struct unordered {
  allot::quantity each;
  std::uint32_t pods = 1;
  friend bool operator==(const unordered&, const unordered&) = default;
};
struct most : least {
  std::int64_t submitted(job j) const { return 1000 + j; }
  std::uint64_t id(job j) const { return 2000U + static_cast<std::uint64_t>(j); }
  bool preemptible(job j) const { return j % 2 == 0; }
};
template <class View>
using record = allot::detail::job_record<View, allot::no_placement>;
template <class View>
using table = allot::detail::job_table<record<View>>;

}  // namespace

TEST_CASE("job_table: indexes of removed jobs are reused, ids are not") {
  allot_test::for_each_seed(100, [](random_source& random) {
    table<least> jobs;
    std::map<job_id, int> there;
    std::set<job_id> gone;
    std::size_t most_at_once = 0;
    for (int i = 0; i < 300; ++i) {
      if (random.one_in(2) || there.empty()) {
        const job_id id = jobs.add();
        CHECK(there.count(id) == 0);
        CHECK(gone.count(id) == 0);
        jobs[id].what = i;
        jobs[id].state = job_state::pending;
        there[id] = i;
      } else {
        const job_id id = random.pick(there).first;
        const auto ticket = jobs[id].ticket;
        jobs.remove(id);
        CHECK(jobs[id].ticket != ticket);
        there.erase(id);
        gone.insert(id);
      }
      most_at_once = there.size() > most_at_once ? there.size() : most_at_once;
      for (const auto& [id, what] : there) {
        CHECK(id.index() < most_at_once);
        CHECK(jobs.contains(id));
        CHECK(jobs[id].what == what);
      }
      for (const job_id id : gone) CHECK_FALSE(jobs.contains(id));
      CHECK_FALSE(jobs.contains(job_id{most_at_once}));
    }
  });
  CHECK_FALSE(table<least>{}.contains(job_id::none()));
}

TEST_CASE("job_table: records keep their addresses while others are added") {
  table<least> jobs;
  const job_id first = jobs.add();
  const record<least>* const at = &jobs[first];
  for (int i = 0; i < 1000; ++i) static_cast<void>(jobs.add());
  CHECK(&jobs[first] == at);
}

TEST_CASE("job_table: what a view does not show has its default") {
  record<least> r;
  allot::detail::read_job(r, least{}, 5, 77);
  CHECK(r.what == 5);
  CHECK(r.facts.quota == allot::quota_id{5});
  CHECK(r.facts.request == allot::resources<>{gpus(5)});
  CHECK(r.facts.priority == -5);
  CHECK(r.facts.submitted == 77);
  CHECK(r.facts.order == 77);
  CHECK(r.preemptible);

  record<most> s;
  allot::detail::read_job(s, most{}, 5, 77);
  CHECK(s.facts.submitted == 1005);
  CHECK(s.facts.order == 2005);
  CHECK_FALSE(s.preemptible);
}

TEST_CASE("job_table: a record is read again except for the count of its stays") {
  record<most> r;
  r.ticket = 9;
  r.state = job_state::running;
  r.facts.started = 5;
  r.admitted_in = 5;
  allot::detail::read_job(r, most{}, 4, 1);
  CHECK(r.ticket == 9);
  CHECK(r.state == job_state::unknown);
  CHECK(r.facts.started == 0);
  CHECK(r.admitted_in == 0);
  CHECK(r.preemptible);
}

TEST_CASE("preemption_turns: bounded in one epoch, renewed in the next") {
  allot::detail::preemption_turns turns;
  for (std::uint64_t epoch = 1; epoch < 4; ++epoch) {
    for (std::uint32_t i = 0; i < turns.most; ++i) {
      CHECK(turns.left_in(epoch));
      turns.take_in(epoch);
    }
    CHECK_FALSE(turns.left_in(epoch));
  }
}

TEST_CASE_TEMPLATE("request_classes: equal requests have equal numbers, others have different ones", demand,
                   allot::gpu::pod_request, unordered) {
  allot::detail::request_classes<2, demand> classes;
  std::vector<allot::class_number> first_round;
  for (int round = 0; round < 2; ++round) {
    std::size_t i = 0;
    for (const int a : {0, 1}) {
      for (const int b : {0, 1}) {
        for (const int pods : {1, 2}) {
          for (const capacity_kind in : {capacity_kind::any, capacity_kind::guaranteed}) {
            for (const std::int64_t priority : {-1, 0}) {
              const auto number = classes.add(
                  {{gpus(a), gpus(b)}, {}, {gpus(1), static_cast<std::uint32_t>(pods)}, in, priority});
              if (round == 0) {
                first_round.push_back(number);
              } else {
                CHECK(number == first_round[i]);
              }
              ++i;
            }
          }
        }
      }
    }
  }
  CHECK(std::set<allot::class_number>(first_round.begin(), first_round.end()).size() == 32);
}

TEST_CASE("request_classes: a class is kept as long as a job has it, also in a copy of the table") {
  allot_test::for_each_seed(15, [](random_source& random) {
    using table_type = allot::detail::request_classes<1, allot::no_placement::pod_request>;
    table_type classes;
    std::map<std::int64_t, std::pair<allot::class_number, int>> there;
    for (int i = 0; i < 3000; ++i) {
      if (random.one_in(20)) {
        table_type copy = classes;
        classes = copy;
      }
      const std::int64_t size = random.between(1, 200);
      auto known = there.find(size);
      if (random.one_in(2) || known == there.end()) {
        const auto number = classes.add({gpus(size), {}, {}, capacity_kind::any, 0});
        if (known != there.end()) CHECK(number == known->second.first);
        auto& entry = there[size];
        entry.first = number;
        ++entry.second;
      } else {
        classes.remove(known->second.first);
        if (--known->second.second == 0) there.erase(known);
      }
      CHECK(classes.size() >= there.size());
      CHECK(classes.size() <= std::max<std::size_t>(2 * there.size(), there.size() + 64) + 1);
      for (const auto& [gpus_of, entry] : there) {
        REQUIRE(classes.find(entry.first) != nullptr);
        CHECK(classes.find(entry.first)->request == allot::resources<1>{gpus(gpus_of)});
      }
    }
  });
}
