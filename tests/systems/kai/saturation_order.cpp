// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kai/detail/saturation_order.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot::saturation_standing;
using allot::share_accounts;
using allot_test::random_source;

namespace {

struct queue {
  std::int64_t deserved = 0;
  std::int64_t used = 0;
  std::int64_t waiting = 0;
  std::int32_t priority = 0;
  std::int64_t weight = 1000;
};

/// Whether the first of two queues precedes the second, with jobs that request this much.
class pair_of_queues {
 public:
  pair_of_queues(std::int64_t capacity, const queue& first, const queue& second)
      : tree_(tree_of(first, second)) {
    const queue* all[] = {&first, &second};
    books_.reset(tree_);
    for (std::size_t i = 0; i < 2; ++i) {
      books_.set_own(quota_id{i}, gpus(all[i]->used), {}, gpus(all[i]->waiting));
    }
    books_.divide(gpus(capacity));
  }

  pair_of_queues(const pair_of_queues&) = delete;
  pair_of_queues& operator=(const pair_of_queues&) = delete;

  [[nodiscard]] bool first_goes(std::int64_t its_job, std::int64_t other_job, std::int64_t given = 0,
                                std::int64_t other_given = 0) const {
    const saturation_standing<1> a{books_, quota_id{0}, gpus(its_job), gpus(given)};
    const saturation_standing<1> b{books_, quota_id{1}, gpus(other_job), gpus(other_given)};
    CHECK((a < b) != (b < a));
    return a < b;
  }

 private:
  [[nodiscard]] static allot::quota_tree<> tree_of(const queue& first, const queue& second) {
    std::vector<quota_spec<>> specs(2);
    specs[0].name = "first";
    specs[1].name = "second";
    const queue* all[] = {&first, &second};
    for (std::size_t i = 0; i < 2; ++i) {
      specs[i].nominal = all[i]->deserved < 0 ? quantity::unlimited() : gpus(all[i]->deserved);
      specs[i].priority = all[i]->priority;
      specs[i].weight = allot::fair_weight::milli(all[i]->weight);
    }
    return allot::build_quota_tree(specs).value();
  }

  allot::quota_tree<> tree_;
  share_accounts<> books_;
};

}  // namespace

TEST_CASE("saturation_standing: within its deserved share comes before priority") {
  const pair_of_queues q{
      10, {.deserved = 2, .used = 2, .waiting = 5, .priority = 9}, {.deserved = 2, .used = 1, .waiting = 5}};
  CHECK_FALSE(q.first_goes(1, 1));
  CHECK(q.first_goes(1, 2));  // Neither is.
}

TEST_CASE("saturation_standing: then priority, before how much is used") {
  const pair_of_queues q{
      20, {.deserved = 1, .used = 8, .waiting = 5, .priority = 1}, {.deserved = 1, .used = 1, .waiting = 5}};
  CHECK(q.first_goes(1, 1));
}

TEST_CASE("saturation_standing: a queue that may have none of it comes last") {
  const pair_of_queues q{
      10, {.deserved = 0, .used = 0, .waiting = 1, .weight = 0}, {.deserved = 1, .used = 9, .waiting = 5}};
  CHECK_FALSE(q.first_goes(1, 1));
}

TEST_CASE("saturation_standing: the smaller share with the job, without victims, then without the job") {
  const queue six{.deserved = 6, .used = 6, .waiting = 9, .weight = 0};
  const queue three{.deserved = 3, .used = 3, .waiting = 9, .weight = 0};
  const pair_of_queues q{9, six, three};
  CHECK(q.first_goes(1, 1));        // 7/6 before 4/3
  CHECK_FALSE(q.first_goes(3, 1));  // 9/6 after 4/3
  CHECK(q.first_goes(2, 1, 1, 0));  // 7/6 before 4/3
  CHECK_FALSE(q.first_goes(2, 1));  // 8/6 is 4/3 and 6/6 is 3/3: the one that deserves less is first.
}

TEST_CASE("saturation_standing: finally the older") {
  const queue even{.deserved = 2, .used = 2, .waiting = 2};
  const pair_of_queues q{8, even, even};
  CHECK(q.first_goes(1, 1));
}

TEST_CASE("saturation_standing: over-utilised means above the share in all of KAI's resources") {
  std::vector<quota_spec<3>> specs(2);
  specs[0].name = "a";
  specs[1].name = "b";
  specs[0].priority = 5;
  for (auto& s : specs) s.nominal = resources<3>{gpus(2), gpus(2), gpus(2)};
  const auto tree = allot::build_quota_tree(specs).value();
  const resources<3> all{gpus(4), gpus(4), gpus(4)};
  const auto a_goes = [&](const resources<3>& used) {
    share_accounts<3> books;
    books.reset(tree);
    books.set_own(quota_id{0}, used, {}, {});
    books.set_own(quota_id{1}, resources<3>{gpus(2), gpus(2), gpus(2)}, {},
                  resources<3>{gpus(1), gpus(1), gpus(1)});
    books.divide(all);
    const resources<3> one{gpus(1), gpus(1), gpus(1)};
    return saturation_standing<3>{books, quota_id{0}, one, {}} <
           saturation_standing<3>{books, quota_id{1}, one, {}};
  };
  CHECK_FALSE(a_goes(resources<3>{gpus(3), gpus(3), gpus(3)}));
  CHECK(a_goes(resources<3>{gpus(3), gpus(3), gpus(2)}));  // Trap 26: not demoted, as its priority is higher.
}

TEST_CASE("saturation_standing: a strict order with one dimension, by KAI's rules in turn") {
  allot_test::for_each_seed(100, [](random_source& random) {
    std::vector<quota_spec<>> specs(random.below(6) + 2);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      specs[i].name = "q" + std::to_string(i);
      specs[i].nominal = random.one_in(8) ? quantity::unlimited() : gpus(random.between(0, 3));
      specs[i].priority = static_cast<std::int32_t>(random.between(0, 1));
      specs[i].weight = allot::fair_weight::whole(random.between(0, 2));
    }
    const auto tree = allot::build_quota_tree(specs).value();
    share_accounts<> books;
    books.reset(tree);
    std::vector<std::int64_t> used(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      used[i] = random.between(0, 4);
      books.set_own(quota_id{i}, gpus(used[i]), {}, gpus(random.between(0, 5)));
    }
    books.divide(gpus(12));
    std::vector<saturation_standing<1>> line;
    std::vector<std::int64_t> job(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      job[i] = random.between(1, 3);
      line.emplace_back(books, quota_id{i}, gpus(job[i]), resources<>{});
    }
    // Thousandths of a thousandth are exact enough for numbers this small.
    const auto share = [&](std::size_t i, std::int64_t amount) {
      const quantity of = books.allocatable(quota_id{i})[0];
      if (amount == 0) return 0.0;
      if (of.is_unlimited()) return static_cast<double>(amount) / 12;
      if (of == quantity{}) return static_cast<double>(amount) * 1000;
      return static_cast<double>(amount) * 1000 / static_cast<double>(of.in_milli());
    };
    const auto before = [&](std::size_t i, std::size_t k) {
      const auto beyond = [&](std::size_t q) { return gpus(used[q] + job[q]) > specs[q].nominal[0]; };
      if (beyond(i) != beyond(k)) return beyond(k);
      if (specs[i].priority != specs[k].priority) return specs[i].priority > specs[k].priority;
      const auto none = [&](std::size_t q) { return books.allocatable(quota_id{q})[0] == quantity{}; };
      if (none(i) != none(k)) return none(k);
      const double with_i = share(i, used[i] + job[i]), with_k = share(k, used[k] + job[k]);
      if (std::abs(with_i - with_k) > 1e-9) return with_i < with_k;
      if (std::abs(share(i, used[i]) - share(k, used[k])) > 1e-9)
        return share(i, used[i]) < share(k, used[k]);
      const quantity a = books.allocatable(quota_id{i})[0], b = books.allocatable(quota_id{k})[0];
      return a != b ? a < b : i < k;
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
      for (std::size_t k = 0; k < line.size(); ++k) {
        if (i != k) CHECK((line[i] < line[k]) == before(i, k));
      }
    }
  });
}
