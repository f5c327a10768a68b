// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

#include "tests/support/seeds.hpp"

namespace allot_test {

namespace detail {

/// rapidcheck's own listener prints its configuration on every run.
class silent_listener : public rc::detail::TestListener {
 public:
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

}  // namespace detail

/// Checks a property with rapidcheck in `cases` cases, a hundred thousand in a long run, a tenth in a short
/// one. The seed is fixed unless RC_PARAMS is set in the environment (`RC_PARAMS="seed=7 max_success=9"`).
///
/// A failing property fails the test case. The output is the smallest counterexample found, as text, and the
/// RC_PARAMS that reproduce it.
template <class Property>
void check_property(const std::string& name, Property property, int cases = 1000) {
  rc::detail::Configuration configuration;
  configuration.testParams.seed = 1;
  configuration.testParams.maxSuccess =
      static_cast<int>(cases_to_try(static_cast<std::size_t>(cases), 100'000));
  if (const char* said = std::getenv("RC_PARAMS")) {
    configuration = rc::detail::configFromString(said, configuration);
  }
  rc::detail::TestMetadata metadata;
  metadata.id = name;
  metadata.description = name;
  detail::silent_listener listener;
  const rc::detail::TestResult result =
      rc::detail::checkProperty(rc::detail::toProperty(std::move(property)), metadata,
                                configuration.testParams, listener, configuration.reproduce);
  std::ostringstream told;
  rc::detail::printResultMessage(result, told);
  if (result.is<rc::detail::SuccessResult>()) {
    CHECK(true);
    return;
  }
  rc::detail::FailureResult failure;
  if (result.match(failure)) {
    rc::detail::Configuration again;
    again.testParams = configuration.testParams;
    again.reproduce.emplace(name, failure.reproduce);
    std::ostringstream params;
    params << rc::detail::configToMinimalString(again);
    told << "\n\nThe same again: RC_PARAMS=\"" << params.str() << '"';
  }
  FAIL_CHECK(name << ": " << told.str());
}

}  // namespace allot_test
