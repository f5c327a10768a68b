// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/backfill/reservations.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using allot::instant;
using allot::job_id;
using allot::quota_id;
using allot::reservation;
using allot::without_end;
using allot::detail::reservations;

namespace {

constexpr quota_id a{1}, b{2};

job_id job(std::uint32_t number) {
  return job_id{number, 1};
}
reservation at(instant start, bool owned = false) {
  reservation p{start, start, {}};
  p.owned = owned;
  return p;
}
std::vector<instant> starts(const reservations& all) {
  std::vector<instant> found;
  for (const std::size_t i : all.by_start()) found.push_back(all.all()[i].what.start);
  return found;
}
std::vector<quota_id> take_changed(reservations& all) {
  std::vector<quota_id> found;
  all.take_changed([&](quota_id x) { found.push_back(x); });
  return found;
}

}  // namespace

TEST_CASE("reservations: each keeps its turn, those on what a quota owns apart") {
  reservations all;
  all.add({job(1), a, at(30)});
  all.add({job(2), a, at(20, true)});
  all.add({job(3), b, at(10)});
  CHECK(starts(all) == std::vector<instant>{10, 30});
  REQUIRE(all.owned_by(a).size() == 1);
  CHECK(all.owned_by(b).empty());
  CHECK(all.find(job(2), a)->number == 2);
  CHECK(all.find(job(3), b)->number == 3);
  CHECK(all.find(job(4), a) == nullptr);
  // One whose admission is taken back has its turn again.
  all.add({job(4), a, at(5, true)});
  all.remove(job(2), a);
  all.add({job(2), a, at(without_end, true)}, 2);
  REQUIRE(all.owned_by(a).size() == 2);
  CHECK(all.owned_by(a)[0].job == job(2));
  CHECK(all.owned_by(a)[0].is_back);
  CHECK(all.next_number() == 5);
}

TEST_CASE("reservations: the next start is that of either kind") {
  reservations all;
  CHECK(!all.next_after(0));
  all.add({job(1), a, at(30)});
  all.add({job(2), b, at(20, true)});
  CHECK(all.next_after(0) == 20);
  CHECK(all.next_after(20) == 30);
  CHECK(!all.next_after(30));
  all.renew(job(2), b, at(40, true));
  all.renew(job(1), a, at(without_end));
  CHECK(all.next_after(0) == 40);
  all.rebase(5);
  CHECK(all.next_after(0) == 45);
  all.remove(job(2), b);
  CHECK(!all.next_after(0));
}

TEST_CASE("reservations: only quotas with such on what they own are noted, once each") {
  reservations all;
  all.note_change(a);
  CHECK(take_changed(all).empty());
  all.add({job(1), a, at(10, true)});
  all.add({job(2), b, at(20, true)});
  all.note_change(a);
  all.note_change(a);
  CHECK(take_changed(all) == std::vector<quota_id>{a});
  all.note_due(15, [](job_id id) { return id == job(1) ? a : b; });
  CHECK(take_changed(all) == std::vector<quota_id>{a});
  // The last of a quota goes, and the quota with it.
  all.note_change(b);
  all.remove(job(2), b);
  CHECK(take_changed(all).empty());
  CHECK(all.owners().size() == 1);
}

TEST_CASE("reservations: what changes all starts is not hidden by what happens to a job in the same step") {
  allot::detail::reservation_news news;
  news.note(allot::delay_cause::overrun);
  CHECK_FALSE(news.are_made_again());
  news.note(allot::delay_cause::cluster);
  news.note(allot::delay_cause::overrun);
  CHECK(news.are_made_again());
  CHECK(news.cause == allot::delay_cause::cluster);
  news.note(allot::delay_cause::quotas);
  CHECK(news.cause == allot::delay_cause::quotas);
}
