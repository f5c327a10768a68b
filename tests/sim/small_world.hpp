// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/setup.hpp>
#include <allot/sim/simulator.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_test {

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot::sim::job_index;
using allot::sim::second;

using log_lines = std::vector<std::string>;

/// What happened, a line for each event: "45 evict 0 for 1 (borrower), lost 15". Times are seconds.
template <std::size_t N = 1>
class diary final : public allot::sim::observer<N> {
 public:
  void on(const allot::sim::simulator<N>& sim, const allot::sim::job_event<N>& e) override {
    using kind = allot::sim::job_event_kind;
    constexpr const char* words[] = {"submit", "refuse", "start",  "grow",
                                     "shrink", "evict",  "finish", "cancel"};
    std::string line = std::to_string(sim.now() / second) + ' ' + words[static_cast<std::size_t>(e.what)] +
                       ' ' + std::to_string(e.job);
    if (e.what == kind::grew || e.what == kind::shrank) {
      line += " to " + std::to_string(sim.history(e.job).work.pods());
    }
    if (e.borrows[0] > allot::quantity{}) line += ", borrows " + allot::to_string(e.borrows[0]);
    if (e.what == kind::shrank || e.what == kind::evicted) line += reason_of(e.how);
    if (e.what == kind::evicted) line += ", lost " + std::to_string(e.how.lost / second);
    lines.push_back(std::move(line));
  }
  void settled(const allot::sim::simulator<N>& sim) override { settled_at.push_back(sim.now()); }

  std::vector<std::string> lines;
  std::vector<instant> settled_at;

 private:
  [[nodiscard]] static std::string reason_of(const allot::sim::interruption& how) {
    if (how.why == allot::sim::interruption::cause::node_down) return " (node down)";
    if (how.why == allot::sim::interruption::cause::told_before) return " (told before)";
    if (how.why == allot::sim::interruption::cause::start_failed) return " (start failed)";
    std::string text;
    if (how.beneficiary) text += " for " + std::to_string(*how.beneficiary);
    constexpr const char* words[] = {
        "borrower",      "descendant", "same quota", "rival", "borrower while borrowing",
        "consolidation", "resized",    "time limit"};
    text += " (";
    text += words[static_cast<std::size_t>(how.how)];
    return text + ")";
  }
};

/// Calls `look(simulator)` after every instant.
template <std::size_t N = 1>
class each_instant final : public allot::sim::observer<N> {
 public:
  explicit each_instant(std::function<void(const allot::sim::simulator<N>&)> look) : look_(std::move(look)) {}
  void settled(const allot::sim::simulator<N>& sim) override { look_(sim); }

 private:
  std::function<void(const allot::sim::simulator<N>&)> look_;
};

/// Quotas "root", which owns nothing itself, and below it "a", "b", ... with their numbers of GPUs.
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

/// This many GPU seconds in the unit of the figures.
[[nodiscard]] constexpr allot::wide gpu_seconds(std::int64_t n) {
  return static_cast<allot::wide>(n) * 1000 * 1000;
}

/// A job of whole GPUs and seconds, without a given number of pods.
[[nodiscard]] inline allot::sim::job<1> job_of(quota_id quota, std::int64_t size, instant submit_s,
                                               instant duration_s) {
  allot::sim::job<1> j;
  j.quota = quota;
  j.request = allot::resources<1>{gpus(size)};
  j.pod_request.gpus = gpus(size);
  j.pod_request.total = true;
  j.submit = submit_s * second;
  j.duration = duration_s * second;
  return j;
}

/// A gang of one-GPU pods.
[[nodiscard]] inline allot::sim::job<1> gang_of(quota_id quota, std::uint32_t pods, std::uint32_t min_pods,
                                                instant submit_s, instant duration_s) {
  allot::sim::job<1> j = job_of(quota, pods, submit_s, duration_s);
  j.pod_request = {gpus(1), pods};
  j.min_pods = min_pods;
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
  std::vector<allot::queue_settings> settings(specs.size(), Preset{}.defaults());
  return {
      allot::build_quota_tree(std::move(specs)).value(), std::move(settings), {}, std::move(jobs), {}, {}};
}

/// The simulator of a world under the preset of that name; nothing if the preset does not accept its quotas.
/// For 1 and 8 dimensions, for which allot::lab has simulators.
template <std::size_t N>
[[nodiscard]] std::optional<allot::sim::simulator<N>> simulator_of(std::string_view preset,
                                                                   allot::sim::setup<N> s);
/// Runs it to its end. Returns the error in a change of the quotas that stopped it.
template <std::size_t N>
std::vector<allot::problem> run_on(allot::sim::simulator<N>& sim, allot::sim::observer<N>& watch);

/// Runs it and returns the simulator in its final state. The change of quotas that stopped it, if any, is in
/// `problems`.
template <class Preset, std::size_t N>
[[nodiscard]] allot::sim::simulator<N> run(allot::sim::setup<N> s, allot::sim::observer<N>& watch,
                                           std::vector<allot::problem>* problems = nullptr) {
  auto made = simulator_of(Preset::name, std::move(s));
  REQUIRE(made);
  auto stopped_by = run_on(*made, watch);
  if (problems != nullptr) {
    *problems = std::move(stopped_by);
  } else {
    CHECK(stopped_by.empty());
  }
  return std::move(*made);
}

}  // namespace allot_test
