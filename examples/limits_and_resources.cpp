// SPDX-License-Identifier: BSL-1.0
//
// Limits in numbers, and several resources. The tree counts GPUs and CPU cores. Each quota says for each of
// them what it owns, what it lends at most, and what it borrows at most; the ledger answers how much more it
// may use, and what prevents more.
#include <allot/core/dimension_names.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/shortfall.hpp>

#include <cstdio>
#include <string>
#include <vector>

//! [tree]
using allot::limit;
using allot::quantity;
using amounts = allot::resources<2>;  // the first dimension is GPUs, the second is cores

constexpr amounts of(std::int64_t gpus, std::int64_t cores) {
  return {quantity::whole(gpus), quantity::whole(cores)};
}

std::vector<allot::quota_spec<2>> quotas() {
  return {
      {.name = "site"},
      // Borrows at most 4 GPUs, and as many cores as half of its own.
      {.name = "vision",
       .parent = "site",
       .nominal = of(8, 64),
       .borrow = {limit::at_most(quantity::whole(4)), limit::percent(50)}},
      // Keeps 2 of its GPUs for itself, lends all of its cores, and borrows nothing.
      {.name = "speech",
       .parent = "site",
       .nominal = of(8, 64),
       .lend = {limit::at_most(quantity::whole(6)), limit::all()},
       .borrow = limit::none()},
      // Owns nothing, and runs on borrowed capacity.
      {.name = "interns", .parent = "site"},
  };
}
//! [tree]

int main() {
  const allot::dimension_names<2> names{"GPUs", "cores"};
  auto built = allot::build_quota_tree(quotas());
  for (const allot::problem& p : built.problems()) std::printf("%s\n", p.text.c_str());
  if (!built) return 1;

  allot::ledger<2> ledger{built.value()};
  const auto quota = [&](const char* name) { return ledger.tree().find(name); };
  const auto tell = [&](const char* when) {
    std::printf("%s\n", when);
    for (const allot::quota_id x : ledger.tree().children(quota("site"))) {
      std::printf("  %-8s may use %s more\n", std::string{ledger.tree().name(x)}.c_str(),
                  names.text(ledger.headroom(x)).c_str());
    }
  };
  tell("Nothing runs.");

  //! [charge]
  if (ledger.fits(quota("vision"), of(10, 80))) ledger.charge(quota("vision"), of(10, 80));
  //! [charge]
  tell("vision uses 10 GPUs and 80 cores: 2 and 16 of them are speech's.");

  //! [shortfall]
  std::printf("What stops 4 more GPUs and 24 more cores for vision:\n");
  allot::for_each_shortfall(
      ledger, quota("vision"), of(4, 24), allot::capacity_kind::any, [&](const allot::shortfall& s) {
        std::printf("  %s %s at %s\n", to_string(s.missing).c_str(), std::string{names[s.dimension]}.c_str(),
                    std::string{ledger.tree().name(s.quota)}.c_str());
      });
  //! [shortfall]

  //! [what if]
  const allot::savepoint before = ledger.save();
  ledger.release(quota("vision"), of(10, 80));
  tell("What if that job ended?");
  ledger.rollback(before);
  //! [what if]

  //! [change]
  const allot::quota_change<2> wider = allot::resize_quota<2>{
      .quota = quota("vision"), .borrow = allot::limits<2>{limit::at_most(quantity::whole(6)), limit::all()}};
  if (const auto over = allot::apply(ledger, wider); over && over.value().empty()) {
    tell("vision may borrow 6 GPUs from now on, and any number of cores.");
  }
  //! [change]
}
