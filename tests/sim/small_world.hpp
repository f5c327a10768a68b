// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/simulator.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot::sim::job_index;
using allot::sim::second;

/// What happened, a line for each event: "45 evict 0 for 1 (borrower), lost 15". Times are seconds.
class diary {
 public:
  template <class Simulator>
  void submitted(const Simulator& sim, job_index j) {
    note(sim, "submit", j);
  }
  template <class Simulator>
  void refused(const Simulator& sim, job_index j, allot::refusal) {
    note(sim, "refuse", j);
  }
  template <class Simulator>
  void started(const Simulator& sim, job_index j, const allot::resources<Simulator::n>& borrows) {
    note(sim, "start", j);
    if (borrows[0] > allot::quantity{}) lines.back() += ", borrows " + allot::to_string(borrows[0]);
  }
  template <class Simulator>
  void grew(const Simulator& sim, job_index j, allot::job_id, const allot::resources<Simulator::n>& borrows) {
    note(sim, "grow", j);
    lines.back() += " to " + std::to_string(sim.history(j).work.pods());
    if (borrows[0] > allot::quantity{}) lines.back() += ", borrows " + allot::to_string(borrows[0]);
  }
  template <class Simulator>
  void shrank(const Simulator& sim, job_index j, allot::job_id, const allot::sim::interruption& how) {
    note(sim, "shrink", j);
    lines.back() += " to " + std::to_string(sim.history(j).work.pods()) + reason_of(how);
  }
  template <class Simulator>
  void evicted(const Simulator& sim, job_index j, const allot::sim::interruption& how) {
    note(sim, "evict", j);
    lines.back() += reason_of(how) + ", lost " + std::to_string(how.lost / second);
  }
  template <class Simulator>
  void finished(const Simulator& sim, job_index j) {
    note(sim, "finish", j);
  }
  template <class Simulator>
  void cancelled(const Simulator& sim, job_index j) {
    note(sim, "cancel", j);
  }
  template <class Simulator>
  void settled(const Simulator& sim) {
    settled_at.push_back(sim.now());
  }

  std::vector<std::string> lines;
  std::vector<instant> settled_at;

 private:
  [[nodiscard]] static std::string reason_of(const allot::sim::interruption& how) {
    if (how.why == allot::sim::interruption::cause::node_down) return " (node down)";
    if (how.why == allot::sim::interruption::cause::told_before) return " (told before)";
    std::string text;
    if (how.beneficiary) text += " for " + std::to_string(*how.beneficiary);
    constexpr const char* words[] = {
        "borrower",      "descendant", "same quota", "rival", "borrower while borrowing",
        "consolidation", "resized",    "time limit"};
    text += " (";
    text += words[static_cast<std::size_t>(how.how)];
    return text + ")";
  }
  template <class Simulator>
  void note(const Simulator& sim, const char* what, job_index j) {
    lines.push_back(std::to_string(sim.now() / second) + ' ' + what + ' ' + std::to_string(j));
  }
};

/// Calls `look(simulator)` after every instant.
template <class Look>
struct each_instant {
  Look look;

  void submitted(const auto&, job_index) {}
  void refused(const auto&, job_index, allot::refusal) {}
  void started(const auto&, job_index, const auto&) {}
  void grew(const auto&, job_index, allot::job_id, const auto&) {}
  void shrank(const auto&, job_index, allot::job_id, const allot::sim::interruption&) {}
  void evicted(const auto&, job_index, const allot::sim::interruption&) {}
  void finished(const auto&, job_index) {}
  void cancelled(const auto&, job_index) {}
  void settled(const auto& sim) { look(sim); }
};
template <class Look>
each_instant(Look) -> each_instant<Look>;

/// Quotas "root", which owns nothing itself, and below it "a", "b", ... with so many GPUs each.
[[nodiscard]] inline std::vector<allot::quota_spec<1>> siblings(const std::vector<std::int64_t>& nominal) {
  std::vector<allot::quota_spec<1>> specs(1);
  specs[0].name = "root";
  for (std::size_t i = 0; i < nominal.size(); ++i) {
    allot::quota_spec<1> s;
    s.name = std::string(1, static_cast<char>('a' + i));
    s.parent = "root";
    s.nominal = allot::resources<1>{gpus(nominal[i])};
    specs.push_back(std::move(s));
  }
  return specs;
}

inline constexpr quota_id root{0};
inline constexpr quota_id a{1};
inline constexpr quota_id b{2};

/// So many GPU seconds in the unit of the figures.
[[nodiscard]] constexpr allot::wide gpu_seconds(std::int64_t n) {
  return static_cast<allot::wide>(n) * 1000 * 1000;
}

/// A job of whole GPUs and seconds, in whatever pieces it takes.
[[nodiscard]] inline allot::sim::job<1> job_of(quota_id quota, std::int64_t size, instant submit_s,
                                               instant duration_s) {
  allot::sim::job<1> j;
  j.quota = quota;
  j.request = allot::resources<1>{gpus(size)};
  j.demand.gpus = gpus(size);
  j.demand.total = true;
  j.submit = submit_s * second;
  j.duration = duration_s * second;
  return j;
}

[[nodiscard]] inline allot::sim::places nodes(std::int64_t count, std::int64_t gpus_each) {
  allot::gpu::node_spec spec;
  spec.name = "n";
  spec.count = count;
  spec.gpus = gpus_each;
  return allot::sim::places{allot::gpu::build_cluster({spec}).value()};
}

/// Every quota with the preset's defaults, and no nodes unless they are set.
template <class Preset>
[[nodiscard]] allot::sim::setup<1> world(std::vector<allot::quota_spec<1>> specs,
                                         std::vector<allot::sim::job<1>> jobs) {
  std::vector<allot::queue_settings> settings(specs.size(), Preset::defaults());
  return {
      allot::build_quota_tree(std::move(specs)).value(), std::move(settings), {}, std::move(jobs), {}, {}};
}

/// Runs it and returns the simulator as it is then. The change of quotas that stopped it, if any, is in
/// `problems`.
template <class Preset, class Observer>
[[nodiscard]] allot::sim::simulator<1, Preset> run(allot::sim::setup<1> s, Observer& watch,
                                                   std::vector<allot::problem>* problems = nullptr) {
  auto made = allot::sim::simulator<1, Preset>::make(std::move(s));
  REQUIRE(made);
  auto simulator = std::move(made).value();
  auto stopped_by = simulator.run(watch);
  if (problems != nullptr) {
    *problems = std::move(stopped_by);
  } else {
    CHECK(stopped_by.empty());
  }
  return simulator;
}

}  // namespace allot_test
