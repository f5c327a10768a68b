// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/simulators.hpp>

#include <doctest/doctest.h>
#include <allot/quota/builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using allot::gpus;

namespace {

/// Two teams of which one borrows and the other takes its own back, with one resource of N in use.
template <std::size_t N>
std::string decisions_of(const allot::any_preset& preset) {
  const auto amount = [](std::int64_t whole) {
    allot::resources<N> r;
    r[0] = gpus(whole);
    return r;
  };
  std::vector<allot::quota_spec<N>> specs(3);
  specs[0].name = "lab";
  specs[1].name = "a";
  specs[2].name = "b";
  for (std::size_t i : {1U, 2U}) {
    specs[i].parent = "lab";
    specs[i].nominal = amount(4);
  }
  allot::sim::setup<N> s{
      .quotas = allot::build_quota_tree(specs).value(), .settings = {}, .where = {}, .jobs = {}};
  for (std::uint32_t i = 0; i < 12; ++i) {
    allot::sim::job<N> j;
    j.quota = allot::quota_id{1 + i % 2};
    j.request = amount(1 + i % 5);
    j.priority = static_cast<std::int64_t>(i % 3);
    j.submit = (i / 2) * allot::sim::second;
    j.duration = (3 + i % 4) * allot::sim::second;
    s.jobs.push_back(j);
  }
  s.settings.assign(specs.size(), preset.defaults());
  auto sim = allot::sim::simulator<N>::make(std::move(s), preset);
  if (!sim) return "refused: " + sim.problems().front().text;
  allot::lab::metrics<N> watch;
  CHECK(sim.value().run(watch).empty());
  CHECK(sim.value().decisions() >= 12);
  return sim.value().decision_hash().hex();
}

}  // namespace

TEST_CASE("simulators: under every preset more dimensions than are used change no decision") {
  allot::for_each_preset([](auto p) {
    CAPTURE(p.name);
    const auto preset = *allot::any_preset::find(p.name);
    const std::string decisions = decisions_of<1>(preset);
    CHECK(decisions == decisions_of<allot::lab::max_resources>(preset));
  });
}
