// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/detail/victim_queue.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

using allot::beneficiary;
using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::quota_id;
using allot::relation;
using allot::running_job;

namespace {

/// A owns 6 and B 2 of 8, all of which B uses; the oldest job of B is the most important.
struct lent_out {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "A", .parent = "root", .nominal = gpus(6)},
                                         {.name = "B", .parent = "root", .nominal = gpus(2)}})
                 .value()};
  allot::running_index<> running;
  beneficiary<1> b{quota_id{1}, gpus(4)};

  lent_out() {
    running.resize(3);
    for (std::size_t i = 0; i < 4; ++i) {
      running_job<> j;
      j.id = job_id{i};
      j.quota = quota_id{2};
      j.priority = i == 0 ? 1 : 0;
      j.started = static_cast<allot::instant>(i);
      j.order = i;
      j.request = gpus(2);
      l.charge(j.quota, j.request);
      running.insert(j);
    }
  }
};

template <class Protection = allot::unprotected>
using queue = allot::detail::victim_queue<1, allot::lowest_priority_then_newest, Protection>;

}  // namespace

TEST_CASE("victim_queue: offers jobs in order until the quota uses no more than it owns") {
  lent_out w;
  queue<> q{{}, {}};
  q.reset();
  q.find(w.l, w.running, w.b, {true});
  std::vector<std::size_t> order;
  while (auto* g = q.pop(w.l, w.b)) {
    const auto d = q.candidate_of(*g, w.b);
    CHECK(d.how == relation::borrower);
    order.push_back(d.next.id.index());
    w.l.release(d.quota, d.next.request);
    q.mark_taken(d.next.id, true);
    q.count(*g, d.next);
    q.took(w.l, w.b, *g, false);
  }
  CHECK(order == std::vector<std::size_t>{3, 2, 1});
  CHECK(q.progress().evictions == 3);
  CHECK(q.is_taken(job_id{1}));
  CHECK_FALSE(q.is_taken(job_id{0}));
  // A new search knows of no victims.
  q.reset();
  CHECK_FALSE(q.is_taken(job_id{1}));
  CHECK(q.progress().evictions == 0);
}

TEST_CASE("victim_queue: a refused candidate is skipped until it is offered again") {
  lent_out w;
  queue<> q{{}, {}};
  q.reset();
  q.find(w.l, w.running, w.b, {true});
  auto* g = q.pop(w.l, w.b);
  REQUIRE(g != nullptr);
  q.refuse(w.l, w.b, *g, gpus(2));
  g = q.pop(w.l, w.b);
  REQUIRE(g != nullptr);
  CHECK(q.candidate_of(*g, w.b).next.id == job_id{2});
  CHECK(q.offer_refused_again(w.l, w.b));
  g = q.pop(w.l, w.b);
  REQUIRE(g != nullptr);
  CHECK(q.candidate_of(*g, w.b).next.id == job_id{3});
  CHECK_FALSE(q.offer_refused_again(w.l, w.b));
  // Where larger jobs are less fair, equally large ones need not be tried.
  q.skip_larger_than_refused(true);
  q.refuse(w.l, w.b, *g, gpus(2));
  CHECK(q.pop(w.l, w.b) == nullptr);
}

TEST_CASE("victim_queue: protected jobs are skipped, given what was taken before") {
  struct one_only {
    bool operator()(const ledger<>&, const beneficiary<1>&, const allot::victim_candidate<1>& d,
                    const allot::search_progress<1>& progress) const {
      return d.next.id == job_id{3} || progress.evictions_of_quota > 0;
    }
  };
  lent_out w;
  queue<one_only> q{{}, {}};
  q.reset();
  q.find(w.l, w.running, w.b, {true});
  auto* g = q.pop(w.l, w.b);
  REQUIRE(g != nullptr);
  const auto d = q.candidate_of(*g, w.b);
  CHECK(d.next.id == job_id{2});
  w.l.release(d.quota, d.next.request);
  q.mark_taken(d.next.id, true);
  q.count(*g, d.next);
  q.took(w.l, w.b, *g, false);
  CHECK(q.pop(w.l, w.b) == nullptr);
}
