// SPDX-License-Identifier: BSL-1.0
// The program `allot` with five policies of one's own, each in its header.
#include <allot/lab/own_policy.hpp>

#include "equal_surplus.hpp"
#include "exact_fit.hpp"
#include "round_robin.hpp"
#include "small_victims.hpp"
#include "smallest_first.hpp"

int main(int argc, char** argv) {
  return allot::lab::run_program_with<smallest_first, small_victims, equal_surplus, exact_fit, round_robin>(
      argc, argv);
}
