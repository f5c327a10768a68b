// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/decision_log.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

using allot::sim::decision_kind;
using allot::sim::decision_log;

TEST_CASE("decision_log: time, kind, job and order all count") {
  decision_log log;
  const auto none = log.hash().value();
  log.note(10, decision_kind::admitted, 1);
  log.note(10, decision_kind::evicted, 2);
  CHECK(log.count() == 2);
  CHECK(log.hash().value() != none);
  const auto hash_of = [](auto first, auto second) {
    decision_log l;
    first(l);
    second(l);
    return l.hash().value();
  };
  const auto admit_1 = [](decision_log& l) { l.note(10, decision_kind::admitted, 1); };
  const auto evict_2 = [](decision_log& l) { l.note(10, decision_kind::evicted, 2); };
  CHECK(hash_of(admit_1, evict_2) == log.hash().value());
  CHECK(hash_of(evict_2, admit_1) != log.hash().value());
  CHECK(hash_of(admit_1, [](decision_log& l) { l.note(11, decision_kind::evicted, 2); }) !=
        log.hash().value());
  CHECK(hash_of(admit_1, [](decision_log& l) { l.note(10, decision_kind::shrunk, 2); }) !=
        log.hash().value());
  CHECK(hash_of(admit_1, [](decision_log& l) { l.note(10, decision_kind::evicted, 3); }) !=
        log.hash().value());
}

TEST_CASE("decision_log: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::sim::decision_kind>(4, 1));
}
