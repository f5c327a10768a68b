// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/detail/pending_queue.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::class_number;
using allot::instant;
using allot::job_id;
using allot::job_rank;
using allot::pending_entry;
using allot::pending_queue;
using allot::without_end;
using allot_test::random_source;

namespace {

/// A queue with its model: a list that is scanned on each call.
class checked_queue {
 public:
  void push(std::uint32_t request_class, const job_rank& rank, instant estimate) {
    const job_id id{jobs_.size()};
    jobs_.push_back({request_class, rank, estimate, true});
    if (blocked_ && rank < jobs_[blocked_->index()].rank) blocked_.reset();
    if (const auto p = inadmissible_.find(request_class); p != inadmissible_.end() && rank < p->second)
      inadmissible_.erase(p);
    queue_.push(class_number{request_class}, {rank, id, 0, estimate});
  }
  void cancel(std::size_t i) {
    if (!jobs_[i].waits) return;
    queue_.take_out(class_number{jobs_[i].request_class}, job_id{i});
    leave(i);
  }
  /// The job that may be tried, as the queue says; checked.
  std::optional<std::size_t> first() {
    if (blocked_ && !jobs_[blocked_->index()].waits) blocked_.reset();
    const auto found = queue_.first([&](const pending_entry& e) { return jobs_[e.id.index()].waits; });
    std::optional<std::size_t> expected;
    for (std::size_t i = 0; i < jobs_.size() && !blocked_; ++i) {
      if (!jobs_[i].waits || inadmissible_.count(jobs_[i].request_class) != 0) continue;
      if (!expected || jobs_[i].rank < jobs_[*expected].rank) expected = i;
    }
    REQUIRE(found.has_value() == expected.has_value());
    if (found) {
      REQUIRE(found->id.index() == *expected);
      REQUIRE(found->rank == jobs_[*expected].rank);
    }
    return expected;
  }
  // To be called right after `first` returned job i.
  void pop(std::size_t i) {
    queue_.take_out(class_number{jobs_[i].request_class}, job_id{i});
    leave(i);
  }
  void park(std::size_t i) {
    queue_.mark_inadmissible();
    inadmissible_[jobs_[i].request_class] = jobs_[i].rank;
  }
  void block(std::size_t i) {
    queue_.block_at_first();
    blocked_ = job_id{i};
  }
  void requeue() {
    queue_.requeue();
    inadmissible_.clear();
    blocked_.reset();
  }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }

 private:
  struct waiting_job {
    std::uint32_t request_class;
    job_rank rank;
    instant estimate;
    bool waits;
  };
  /// A class of which no job waits is not inadmissible.
  void leave(std::size_t i) {
    jobs_[i].waits = false;
    const std::uint32_t left = jobs_[i].request_class;
    const auto is_alike = [left](const waiting_job& j) { return j.waits && j.request_class == left; };
    if (std::none_of(jobs_.begin(), jobs_.end(), is_alike)) inadmissible_.erase(left);
  }
  pending_queue queue_;
  std::vector<waiting_job> jobs_;
  std::map<std::uint32_t, job_rank> inadmissible_;
  std::optional<job_id> blocked_;
};

constexpr auto always = [](const pending_entry&) { return true; };

}  // namespace

TEST_CASE("pending_queue: gives the first job that may be tried, whatever happened before") {
  allot_test::for_each_seed(400, [](random_source& random) {
    checked_queue q;
    const std::size_t classes = random.one_in(4) ? 150 : 1 + random.below(6);
    const bool strict = random.one_in(3);
    const std::size_t cancellations = random.below(4);
    for (std::size_t i = 0; i < 300; ++i) {
      if (random.one_in(2)) {
        q.push(static_cast<std::uint32_t>(random.below(classes)),
               {random.between(-2, 2), random.between(0, 9), i},
               random.one_in(4) ? without_end : random.between(1, 12));
      }
      for (std::size_t k = 0; k < cancellations && q.size() > 0; ++k) q.cancel(random.below(q.size()));
      if (const auto first = q.first()) {
        switch (random.below(4)) {
          case 0:
            q.pop(*first);
            break;
          case 1:
            strict ? q.block(*first) : q.park(*first);
            break;
          default:
            break;
        }
      }
      if (random.one_in(12)) q.requeue();
      static_cast<void>(q.first());
    }
  });
}

TEST_CASE("pending_queue: an inadmissible class is out of the way until the world changes") {
  pending_queue q;
  q.push(class_number{7}, {{0, 1, 1}, job_id{1}, 0});
  q.push(class_number{7}, {{0, 2, 2}, job_id{2}, 0});
  q.push(class_number{8}, {{0, 3, 3}, job_id{3}, 0});
  CHECK(q.first(always)->id == job_id{1});
  q.mark_inadmissible();
  CHECK(q.first(always)->id == job_id{3});
  // A later job of that equivalence class has no better chance; one that ranks before it may have.
  q.push(class_number{7}, {{0, 4, 4}, job_id{4}, 0});
  CHECK(q.first(always)->id == job_id{3});
  q.push(class_number{7}, {{-1, 5, 5}, job_id{5}, 0});
  CHECK(q.first(always)->id == job_id{5});
  q.mark_inadmissible();
  q.requeue();
  CHECK(q.first(always)->id == job_id{5});
}

TEST_CASE("pending_queue: a class stays inadmissible when its first job is cancelled") {
  pending_queue q;
  bool cancelled = false;
  const auto is_current = [&](const pending_entry& e) { return !(cancelled && e.id == job_id{1}); };
  q.push(class_number{7}, {{0, 1, 1}, job_id{1}, 0});
  q.push(class_number{7}, {{0, 5, 5}, job_id{5}, 0});
  CHECK(q.first(is_current)->id == job_id{1});
  q.mark_inadmissible();
  cancelled = true;
  q.take_out(class_number{7}, job_id{1});
  CHECK_FALSE(q.first(is_current).has_value());
  q.push(class_number{7}, {{0, 3, 3}, job_id{3}, 0});
  CHECK_FALSE(q.first(is_current).has_value());
  q.push(class_number{7}, {{0, 0, 0}, job_id{6}, 0});
  CHECK(q.first(is_current)->id == job_id{6});
}

TEST_CASE("pending_queue: the head of a strict queue blocks it until it leaves or the world changes") {
  pending_queue q;
  bool cancelled = false;
  const auto is_current = [&](const pending_entry& e) { return !(cancelled && e.id == job_id{1}); };
  q.push(class_number{7}, {{0, 1, 1}, job_id{1}, 0});
  q.push(class_number{8}, {{0, 2, 2}, job_id{2}, 0});
  CHECK(q.first(is_current)->id == job_id{1});
  q.block_at_first();
  CHECK_FALSE(q.first(is_current).has_value());
  q.push(class_number{3},
         {{0, 3, 3}, job_id{3}, 0});  // another equivalence class, kept before the blocked one
  CHECK_FALSE(q.first(is_current).has_value());
  SUBCASE("it is cancelled") {
    cancelled = true;
    q.take_out(class_number{7}, job_id{1});
    CHECK(q.first(is_current)->id == job_id{2});
  }
  SUBCASE("the world changes") {
    q.requeue();
    CHECK(q.first(is_current)->id == job_id{1});
  }
  SUBCASE("a job that ranks before it is submitted") {
    q.push(class_number{9}, {{-1, 9, 9}, job_id{9}, 0});
    CHECK(q.first(is_current)->id == job_id{9});
  }
}

TEST_CASE("pending_queue: entries of an earlier stay are not taken for the present one") {
  pending_queue q;
  std::uint32_t ticket = 0;
  bool is_first_there = true;
  const auto is_current = [&](const pending_entry& e) {
    return e.id == job_id{0} ? is_first_there : e.ticket == ticket;
  };
  q.push(class_number{1}, {{0, 0, 0}, job_id{0}, 0});
  for (; ticket < 5; ++ticket) {
    if (ticket > 0) q.take_out(class_number{1}, job_id{1});
    q.push(class_number{1}, {{0, 10 - std::int64_t{ticket}, 1}, job_id{1}, ticket});
  }
  ticket = 4;
  is_first_there = false;
  q.take_out(class_number{1}, job_id{0});
  const auto first = q.first(is_current);
  REQUIRE(first.has_value());
  CHECK(first->ticket == 4);
  q.take_out(class_number{1}, first->id);
  CHECK_FALSE(q.first(is_current).has_value());
}

TEST_CASE("pending_queue: jobs cancelled behind a stuck job do not pile up") {
  pending_queue q;
  std::uint64_t latest = 0;
  const auto is_current = [&](const pending_entry& e) { return e.rank.id == 0 || e.rank.id == latest; };
  q.push(class_number{1}, {{0, 0, 0}, job_id{0}, 0});
  REQUIRE(q.first(is_current).has_value());
  q.block_at_first();
  const auto come_and_go = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (latest > 0) q.take_out(class_number{1}, job_id{1});
      q.push(class_number{1}, {{0, 1, ++latest}, job_id{1}, 0});
      static_cast<void>(q.first(is_current));
    }
  };
  come_and_go(100);
  CHECK(allot_test::allocations_in([&] { come_and_go(10'000); }) == 0);
}

TEST_CASE("pending_queue: a steady queue does not allocate") {
  pending_queue q;
  random_source random{1};
  const auto take_first = [&] {
    const auto first = q.first(always);
    q.take_out(class_number{static_cast<std::uint32_t>(first->rank.id % 12)}, first->id);
  };
  const auto turn_over = [&] {
    for (std::uint64_t i = 0; i < 500; ++i) {
      q.push(class_number{static_cast<std::uint32_t>(i % 12)}, {{0, 0, i}, job_id{i}, 0});
      if (i < 40) continue;
      if (!q.first(always)) {
        q.requeue();
        static_cast<void>(q.first(always));
      }
      random.one_in(2) ? take_first() : q.mark_inadmissible();
      if (random.one_in(3)) q.requeue();
    }
    q.requeue();
    while (q.first(always)) take_first();
  };
  turn_over();
  random = random_source{1};
  CHECK(allot_test::allocations_in(turn_over) == 0);
}

TEST_CASE("pending_queue: jobs of an inadmissible class that end in time are tried") {
  pending_queue q;
  q.push(class_number{7}, {{0, 1, 1}, job_id{1}, 0, 100});
  q.push(class_number{7}, {{0, 2, 2}, job_id{2}, 0, 60});
  q.push(class_number{7}, {{0, 3, 3}, job_id{3}, 0});
  q.push(class_number{8}, {{0, 4, 4}, job_id{4}, 0, 50});
  CHECK(q.first(always, 10)->id == job_id{1});
  q.mark_inadmissible(70);
  CHECK(q.first(always, 10)->id == job_id{2});
  CHECK(q.first(always, 11)->id == job_id{4});
  CHECK(q.first(always, 10, true)->id == job_id{4});
  CHECK(q.first(always, 10)->id == job_id{2});
  q.take_out(class_number{7}, job_id{2});
  CHECK(q.first(always, 10)->id == job_id{4});
  q.mark_inadmissible();
  CHECK_FALSE(q.first(always, 10));
  q.push(class_number{7}, {{0, 5, 5}, job_id{5}, 0, 60});
  CHECK(q.first(always, 10)->id == job_id{5});
  q.requeue();
  CHECK(q.first(always, 10)->id == job_id{1});
  CHECK(q.first(always, 10, true)->id == job_id{4});
}

TEST_CASE("pending_queue: finds the first job with a bounded estimate after any changes") {
  allot_test::for_each_seed(200, [](random_source& random) {
    allot::detail::pending_heap heap;
    std::map<job_rank, pending_entry> naive;
    for (std::size_t i = 0; i < 200; ++i) {
      if (!random.one_in(3)) {
        const pending_entry e{{random.between(-3, 3), 0, i}, job_id{i}, 0, random.between(1, 30)};
        heap.push(e);
        naive.emplace(e.rank, e);
      } else if (!heap.empty()) {
        const std::size_t at = random.below(heap.size());
        naive.erase(heap[at].rank);
        heap.remove(at);
      }
      if (random.one_in(20)) {
        const auto is_odd = [](const pending_entry& e) { return e.id.index() % 2 != 0; };
        heap.remove_if(is_odd);
        std::erase_if(naive, [&](const auto& n) { return is_odd(n.second); });
      }
      REQUIRE(heap.size() == naive.size());
      if (heap.empty()) continue;
      REQUIRE(heap.front().rank == naive.begin()->first);
      const allot::instant most = random.between(0, 31);
      std::optional<job_rank> first;
      for (const auto& [rank, e] : naive) {
        if (!first && e.estimate <= most) first = rank;
      }
      const std::size_t found = heap.first_within(most);
      REQUIRE((found != allot::detail::pending_heap::nowhere) == first.has_value());
      if (first) REQUIRE(heap[found].rank == *first);
    }
  });
}
