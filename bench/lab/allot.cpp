// SPDX-License-Identifier: BSL-1.0
// The program `allot`: tries out quotas and policies on scenarios and traces.
#include <allot/lab/own_policy.hpp>

int main(int argc, char** argv) {
  return allot::lab::run_program(argc, argv);
}
