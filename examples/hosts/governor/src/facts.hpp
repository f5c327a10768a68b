// SPDX-License-Identifier: BSL-1.0
//
// What a governor's scheduler knows of jobs and machines, whatever the host that runs them.
#pragma once

#include "lab/scenario/scenario.hpp"

#include <allot/core/time.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/lab/dimensions.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot_governor {

inline constexpr std::size_t dimensions = allot::lab::max_resources;
using amounts = allot::resources<dimensions>;

/// Milliseconds since 1970.
using milliseconds = std::int64_t;

/// The host's own word for a job, unique as long as the job is known: "123_4", "team-a/train".
using job_name = std::string;

/// What a job has of one machine.
struct node_share {
  std::string node;
  std::uint32_t gpus = 0;
  std::uint32_t cpus = 0;

  friend bool operator==(const node_share&, const node_share&) = default;
};
/// "n1:8:64 n2:4:16": machines with their GPUs and CPUs.
[[nodiscard]] std::string to_string(const std::vector<node_share>& where);
[[nodiscard]] std::optional<std::vector<node_share>> parse_shares(const std::string& text);
/// Whether both are the same machines with the same GPUs.
[[nodiscard]] bool is_same_place(const std::vector<node_share>& a, const std::vector<node_share>& b);

/// A machine on which jobs are placed.
struct machine {
  std::string name;
  std::uint32_t gpus = 0;
  std::string gpu_type{};
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  /// What tells machines apart besides their size: jobs name the pools where they may run.
  std::string pool{};
  /// Its place in the network, from coarse to fine, by the levels of `engine_setup`; empty: nobody knows.
  std::vector<std::string> domains{};
  /// Beyond whole CPUs.
  std::uint32_t cpu_milli = 0;
  /// The most pods on it; 0: as many as have room.
  std::uint32_t pod_slots = 0;

  friend bool operator==(const machine&, const machine&) = default;
};

/// What the scheduler's view shows of a job. Times are milliseconds since 1970.
struct facts {
  allot::quota_id quota{};
  /// Of the whole job, in addition to what its flavors count.
  amounts request{};
  /// If its pods differ: only what is of the whole job.
  allot::gpu::pod_request pods{};
  /// The fewest pods that it can run with; 0: all of them.
  std::uint32_t min_pods = 0;
  /// What it chooses, if its pods are alike.
  allot::vector<allot::lab::flavor_group> flavors{};
  /// If its pods differ.
  allot::vector<allot::lab::pod_set_entry> sets{};
  std::int64_t priority = 0;
  allot::instant submitted = 0;
  /// Breaks ties.
  std::uint64_t rank = 0;
  bool preemptible = true;
  /// Whether others may be evicted for it.
  bool preempts = true;
  /// 0: unknown.
  allot::instant estimate = 0;
  /// From when it can start; 0: at once.
  allot::instant ready = 0;

  friend bool operator==(const facts&, const facts&) = default;
};

/// A job of a scenario.
[[nodiscard]] facts facts_of(const allot::lab::job_entry& j, std::uint64_t rank);

/// What it requests, where it chooses among flavors with the first of each.
[[nodiscard]] amounts first_request(const facts& f);

}  // namespace allot_governor
