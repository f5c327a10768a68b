// SPDX-License-Identifier: BSL-1.0
// Law 6: entitlements are all that can be given, and fair; what can be given is told by a maximum flow.
#include <allot/fairshare/division.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/flow_oracle.hpp"
#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"

using allot::ledger;
using allot::quantity;
using allot::quota_id;
using allot_test::big;
using allot_test::scenario;
using amounts = std::vector<std::int64_t>;

namespace {

/// What a side of a common ancestor was given of the ancestor's pool beyond its guarantee there.
struct side {
  std::int64_t surplus;
  std::int64_t weight;
};

/// Quotas with demands, which are the requests of a scenario's jobs.
class divided {
 public:
  divided(const scenario& s, std::int64_t more)
      : ledger_(allot::build_quota_tree(grown(allot_test::specs_of<1>(s), more)).value()) {
    std::vector<allot::resources<1>> demand(ledger_.tree().slots());
    for (const auto& j : s.jobs) {
      demand[ledger_.tree().find("q" + std::to_string(j.quota)).index()][0] += quantity::milli(j.request[0]);
    }
    allot::division<1> shares;
    shares.update(ledger_, demand);
    for (std::size_t i = 0; i < demand.size(); ++i) {
      demand_.push_back(demand[i][0].in_milli());
      own_.push_back(shares.own(quota_id{i})[0].in_milli());
      ledger_.charge(quota_id{i}, shares.own(quota_id{i}));
    }
  }

  [[nodiscard]] const amounts& own() const { return own_; }

  void check() const {
    allot_test::flow_oracle flow{ledger_.tree()};
    for (std::size_t x = 0; x < own_.size(); ++x) {
      if (own_[x] < 0 || own_[x] > demand_[x]) broken(x, "is entitled to more than it wants");
    }
    if (!flow.is_sound(own_)) throw std::runtime_error("the entitlements break the law of the ledger");
    if (flow.most_of(demand_) != std::accumulate(own_.begin(), own_.end(), std::int64_t{0})) {
      throw std::runtime_error("the entitlements are not all that there is and is wanted");
    }
    for (std::size_t x = 0; x < own_.size(); ++x) {
      for (std::size_t y = 0; y < own_.size(); ++y) {
        if (x == y || own_[x] == demand_[x] || own_[y] == 0) continue;
        amounts exchanged = own_;
        ++exchanged[x];
        --exchanged[y];
        if (flow.is_sound(exchanged) && !has_first(quota_id{y}, quota_id{x})) {
          broken(x, "should have the last thousandth of " + name(y));
        }
      }
    }
  }
  /// With more capacity in every root no quota has less.
  void check_not_below(const divided& before) const {
    for (std::size_t x = 0; x < own_.size(); ++x) {
      if (own_[x] < before.own_[x]) broken(x, "has less where there is more");
    }
  }

 private:
  static std::vector<allot::quota_spec<1>> grown(std::vector<allot::quota_spec<1>> specs, std::int64_t more) {
    for (auto& s : specs) {
      if (s.parent.empty()) s.nominal[0] += quantity::milli(more);
    }
    return specs;
  }

  [[nodiscard]] std::string name(std::size_t x) const {
    return std::string{ledger_.tree().name(quota_id{x})};
  }
  [[noreturn]] void broken(std::size_t x, const std::string& how) const {
    std::string told = name(x) + ' ' + how + ". Entitled of what is wanted:";
    for (std::size_t i = 0; i < own_.size(); ++i) {
      told += ' ' + name(i) + ' ' + std::to_string(own_[i]) + '/' + std::to_string(demand_[i]);
    }
    throw std::runtime_error(told);
  }

  /// The side of x as seen from `ancestor`, which may be x: then it is x's own jobs.
  [[nodiscard]] side side_of(quota_id x, quota_id ancestor) const {
    std::int64_t given = own_[x.index()];
    std::int64_t guaranteed = ledger_.supply_of(x, 0).own_pool.in_milli();
    if (x != ancestor) {
      x = ledger_.tree().side_of(x, ancestor);
      const auto& s = ledger_.supply_of(x, 0);
      given = std::max<std::int64_t>(0, (ledger_.drawn(x, 0) - s.kept).in_milli());
      guaranteed = std::min(s.total, s.lend).in_milli();
    }
    return {given - guaranteed, ledger_.tree().spec(x).weight[0].in_milli()};
  }

  /// Whether `one` precedes `other` with its last thousandth, where either could have it: because it was
  /// guaranteed, or because it is nearer to the due of `one` than to that of `other`. (Webster: the divisor
  /// is 2 given + 1.)
  [[nodiscard]] bool has_first(quota_id one, quota_id other) const {
    const quota_id top = ledger_.tree().common_ancestor(one, other);
    side has = side_of(one, top);
    side wants = side_of(other, top);
    if (has.surplus <= 0) return true;
    if (wants.surplus < 0) return false;
    if (has.weight == 0 && wants.weight == 0) has.weight = wants.weight = 1;
    if (has.weight == 0 || wants.weight == 0) return wants.weight == 0;
    return (2 * big{has.surplus} - 1) * wants.weight <= (2 * big{wants.surplus} + 1) * has.weight;
  }

  ledger<1> ledger_;
  amounts demand_;
  amounts own_;
};

rc::Gen<scenario> small_trees() {
  allot_test::scenario_shape shape;
  shape.most_quotas = 7;
  shape.most_jobs = 14;
  shape.largest_job = 9;
  shape.two_dimensions = false;
  shape.machines = false;
  shape.tree_changes = false;
  shape.random_settings = false;
  shape.overcommit = false;
  return allot_test::scenarios(shape);
}

}  // namespace

TEST_CASE("laws: entitlements are max-min fair and exhaust what can be given") {
  const auto trees = small_trees();
  allot_test::check_property("entitlements are max-min", [trees] {
    const scenario s = *trees;
    divided{s, 0}.check();
  });
}

TEST_CASE("laws: more capacity lowers no entitlement") {
  const auto trees = small_trees();
  allot_test::check_property("entitlements grow", [trees] {
    const scenario s = *trees;
    const divided before{s, 0};
    divided{s, 1}.check_not_below(before);
    divided{s, 3500}.check_not_below(before);
  });
}
