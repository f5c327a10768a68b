// SPDX-License-Identifier: BSL-1.0
#include "tests/sim/small_world.hpp"

#include <allot/lab/simulators.hpp>

namespace allot_test {

template <std::size_t N>
std::optional<allot::sim::simulator<N>> simulator_of(std::string_view preset, allot::sim::setup<N> s) {
  auto made = allot::sim::simulator<N>::make(std::move(s), allot::any_preset::find(preset).value());
  if (!made) return std::nullopt;
  return std::move(made).value();
}
template <std::size_t N>
std::vector<allot::problem> run_on(allot::sim::simulator<N>& sim, allot::sim::observer<N>& watch) {
  return sim.run(watch);
}

template std::optional<allot::sim::simulator<1>> simulator_of(std::string_view, allot::sim::setup<1>);
template std::optional<allot::sim::simulator<8>> simulator_of(std::string_view, allot::sim::setup<8>);
template std::vector<allot::problem> run_on(allot::sim::simulator<1>&, allot::sim::observer<1>&);
template std::vector<allot::problem> run_on(allot::sim::simulator<8>&, allot::sim::observer<8>&);

}  // namespace allot_test
