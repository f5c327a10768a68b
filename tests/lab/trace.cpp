// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

TEST_CASE("job_id_less: numbers by value and first, the others byte by byte") {
  CHECK(job_id_less("9", "10"));
  CHECK(job_id_less("10", "9a"));
  CHECK_FALSE(job_id_less("", ""));
  const std::vector<std::string> sorted = {"0",
                                           "00",
                                           "1",
                                           "7",
                                           "07",
                                           "007",
                                           "9",
                                           "10",
                                           "0010",
                                           "18446744073709551616",
                                           "99999999999999999999999",
                                           "",
                                           "-1",
                                           "1.5",
                                           "10a",
                                           "9a",
                                           "A",
                                           "a",
                                           "a1",
                                           "a10",
                                           "a9",
                                           "\xc3\xa4"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      CAPTURE(sorted[i]);
      CAPTURE(sorted[j]);
      CHECK(job_id_less(sorted[i], sorted[j]) == (i < j));
    }
  }
}

TEST_CASE("job_id_less: a strict total order on random ids") {
  allot_test::for_each_seed(3'000, [](allot_test::random_source& random) {
    const auto draw = [&random] {
      std::string id(random.below(4), ' ');
      for (char& c : id) c = random.pick(std::string_view{"0019a"});
      return id;
    };
    const std::string a = draw();
    const std::string b = draw();
    const std::string c = draw();
    CHECK(int{job_id_less(a, b)} + int{job_id_less(b, a)} + int{a == b} == 1);
    if (job_id_less(a, b) && job_id_less(b, c)) CHECK(job_id_less(a, c));
  });
}

TEST_CASE("sort_by_submission: by time, then by id, whatever the order before") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    trace t;
    for (std::size_t i = 0; i < 40; ++i) {
      trace_job job;
      job.id = t.ids.intern(std::to_string(i)).name;
      job.submit = random.between(0, 10);
      t.jobs.push_back(job);
    }
    trace shuffled = t;
    random.shuffle(shuffled.jobs);
    sort_by_submission(t);
    sort_by_submission(shuffled);
    for (std::size_t i = 0; i < t.jobs.size(); ++i) {
      CHECK(t.jobs[i].id == shuffled.jobs[i].id);
      if (i == 0) continue;
      const trace_job& before = t.jobs[i - 1];
      CHECK(before.submit <= t.jobs[i].submit);
      if (before.submit == t.jobs[i].submit) CHECK(before.id < t.jobs[i].id);
    }
  });
}

TEST_CASE("trace: tags follow their job when jobs are sorted") {
  trace t;
  t.tag_columns = {"color", "shape"};
  for (const char* id : {"2", "1"}) {
    trace_job job;
    job.id = t.ids.intern(id).name;
    t.jobs.push_back(job);
    t.tags.push_back(t.words.intern(std::string{"color of "} + id).name);
    t.tags.push_back(name_id::none());
  }
  sort_by_submission(t);
  CHECK(t.ids[t.jobs[0].id] == "1");
  CHECK(t.tag(t.jobs[0], 0) == "color of 1");
  CHECK(t.tag(t.jobs[1], 0) == "color of 2");
  CHECK(t.tag(t.jobs[1], 1).empty());
}
