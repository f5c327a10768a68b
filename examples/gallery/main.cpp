// SPDX-License-Identifier: BSL-1.0
// The program `allot` with the policies of the gallery, by their names: what `./dev paper` runs.
//
//     gallery_allot replay --nodes 16x8 --trace jobs.csv --policy tiresias --out tiresias
#include <allot/lab/own_policy.hpp>

#include "gavel.hpp"
#include "gavel_models.hpp"
#include "gittins.hpp"
#include "qssf.hpp"
#include "rlscheduler.hpp"
#include "srtf.hpp"
#include "themis.hpp"
#include "tiresias.hpp"

int main(int argc, char** argv) {
  return allot::lab::run_program_with<srtf, srsf, qssf, tiresias, gittins, themis, gavel_las, gavel_makespan,
                                      gavel_las_models, gavel_makespan_models, committed, wfp3, unicep>(argc,
                                                                                                        argv);
}
