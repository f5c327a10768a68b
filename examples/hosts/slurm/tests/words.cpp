// SPDX-License-Identifier: BSL-1.0
#include "../src/words.hpp"

#include "governor/src/metrics.hpp"
#include "governor/src/page.hpp"
#include "governor/src/status.hpp"
#include "governor/tests/snapshots.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_governor;

TEST_CASE("words: programs and people find Slurm's names where they have always been") {
  snapshot s = test::sample("lab", allot_slurm::words);
  s.is_away = true;
  s.jobs[3].host_reason = "Resources";
  s.jobs[3].comment = "allot: admitted";
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string json = status_json(s);
  has(json, R"("format": "allot-slurm-status/1")");
  has(json, R"("slurmctld_answers": false)");
  has(json, R"("slurm_reason": "Resources")");
  const std::string text = status_text(s);
  has(text, "\nslurmctld does not answer: this is what was known last\n");
  has(text, "n1 lost 1 GPU: restart slurmctld");
  has(text, "Slurm does not start it: Resources");
  const std::string why = why_text(s, s.jobs[3].id);
  has(why, "\nSlurm says   Resources\n");
  has(why, "\nAdminComment allot: admitted\n");
  has(page_of(s), "lost until slurmctld restarts: 1");
  has(page_of(s), "allot-slurm does not run");
  has(metrics_of(s), "allot_slurm_slurmctld_up 0\n");
  has(metrics_of(s), "CPU time of libslurm to load");
}
