// SPDX-License-Identifier: BSL-1.0
#include "lab/io/deviation.hpp"

#include <doctest/doctest.h>

#include <vector>

using allot::lab::difference_of;
using allot::lab::seeded_value;
using allot::lab::summarize_values;
using doctest::Approx;

TEST_CASE("deviation: mean and standard deviation of a sample") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  const auto s = summarize_values(values);
  CHECK(s.count == 8);
  CHECK(s.mean == 5);
  CHECK(*s.deviation == Approx(2.13809));
  CHECK(s.p10 == Approx(3.4));
  CHECK(s.p90 == Approx(7.6));
  const auto one = summarize_values(std::vector<double>{3});
  CHECK_FALSE(one.deviation);
  CHECK(one.p10 == 3);
  CHECK(one.p90 == 3);
  CHECK(summarize_values({}).count == 0);
}

TEST_CASE("deviation: runs of one seed are compared with each other") {
  // They deviate by 100, their differences by 1.
  const std::vector<seeded_value> a{{1, 100}, {2, 200}, {3, 300}};
  const std::vector<seeded_value> b{{3, 311}, {1, 109}, {2, 210}};
  const auto d = difference_of(a, b);
  REQUIRE(d);
  CHECK(d->pairs == 3);
  CHECK(d->mean == 10);
  CHECK(*d->deviation == 1);
  CHECK_FALSE(d->is_within_deviation());
  // Only the seeds that both have.
  const auto few = difference_of(a, std::vector<seeded_value>{{2, 190}, {7, 1000}});
  CHECK(few->pairs == 1);
  CHECK(few->mean == -10);
  CHECK_FALSE(few->deviation);
  CHECK_FALSE(few->is_within_deviation());
}

TEST_CASE("deviation: confidence intervals, of textbook values") {
  CHECK(allot::lab::student_t_95(1) == Approx(12.7062).epsilon(1e-5));
  CHECK(allot::lab::student_t_95(9) == Approx(2.26216).epsilon(1e-5));
  CHECK(allot::lab::student_t_95(29) == Approx(2.04523).epsilon(1e-5));
  // Student's sleep data (1908): of ten patients, paired, 0.70 to 2.46 h; as two samples -0.205 to 3.365 h.
  const std::vector<double> first{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  std::vector<seeded_value> a;
  std::vector<seeded_value> b;
  std::vector<seeded_value> others;
  for (std::size_t i = 0; i < first.size(); ++i) {
    a.emplace_back(i, first[i]);
    b.emplace_back(i, second[i]);
    others.emplace_back(100 + i, second[i]);
  }
  const auto paired = difference_of(a, b);
  REQUIRE(paired->half_width);
  CHECK(paired->mean == Approx(1.58));
  CHECK(*paired->half_width == Approx(0.879886).epsilon(1e-5));
  const auto welch = difference_of(a, others);
  REQUIRE(welch->half_width);
  CHECK(welch->mean - *welch->half_width == Approx(-0.2054832).epsilon(1e-5));
  CHECK(welch->mean + *welch->half_width == Approx(3.3654832).epsilon(1e-5));
  CHECK_FALSE(
      difference_of(std::vector<seeded_value>{{1, 10}}, std::vector<seeded_value>{{1, 11}})->half_width);
  CHECK(*difference_of(a, a)->half_width == 0);
}

TEST_CASE("deviation: without pairs the means are compared") {
  const std::vector<seeded_value> a{{1, 10}, {2, 14}};
  const std::vector<seeded_value> b{{3, 12}, {4, 15}};
  const auto d = difference_of(a, b);
  REQUIRE(d);
  CHECK(d->pairs == 0);
  CHECK(d->mean == 1.5);
  // The root of 8 + 4.5.
  CHECK(*d->deviation == Approx(3.535534));
  CHECK(d->is_within_deviation());
  // Two runs of one seed are no pair: it is unknown which belongs to which.
  const std::vector<seeded_value> twice{{1, 10}, {1, 20}};
  CHECK(difference_of(a, twice)->pairs == 0);
  CHECK(difference_of(twice, a)->pairs == 0);
  CHECK_FALSE(difference_of(a, {}));
  CHECK_FALSE(difference_of({}, a));
}

TEST_CASE("deviation: no difference is not within the deviation, with one run each it is unknown") {
  const std::vector<seeded_value> a{{1, 10}, {2, 20}};
  CHECK_FALSE(difference_of(a, a)->is_within_deviation());
  CHECK_FALSE(difference_of(std::vector<seeded_value>{{1, 10}}, std::vector<seeded_value>{{1, 11}})
                  ->is_within_deviation());
  // Once more and once less: on average more, but within the deviation.
  CHECK(difference_of(a, std::vector<seeded_value>{{1, 16}, {2, 18}})->is_within_deviation());
}
