// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/generate_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// Named workloads: one kind of job, or a mix of training, inference and interactive sessions.
enum class workload_kind : std::uint8_t { philly, helios, openb, inference, interactive, mix };

/// A tenant, and its share of the submissions, relative to the others.
struct tenant_share {
  std::string name;
  std::uint64_t share = 1;
};

/// Which tenants submit what. A tenant may be in all of the lists.
struct workload_tenants {
  vector<tenant_share> training;
  vector<tenant_share> inference;
  vector<tenant_share> interactive;
};

/// The three teams of the demo: a service on quota1 itself, and below it two teams with 48 and 80 of 128 GPUs
/// that train and also open sessions.
[[nodiscard]] workload_tenants demo_tenants();

/// team-1, team-2...: each submits everything, and the n-th 1/n of what the first does, as with virtual
/// clusters at Microsoft. Precondition: 1 to 1,000.
[[nodiscard]] workload_tenants numbered_tenants(std::size_t count);

/// The inference and interactive work of a mix, in thousandths of what the cluster can do, as the load is.
/// The rest is training.
struct workload_mix {
  std::int64_t inference_permille = 110;
  std::int64_t interactive_permille = 80;
};

/// The parts of a workload for a `workload_stream` of `size`. Precondition: as for the stream; 0 <=
/// inference, interactive and their sum < load in a mix.
[[nodiscard]] vector<workload_part> make_parts(workload_kind kind, const workload_tenants& tenants,
                                               const workload_size& size, const workload_mix& mix = {});

}  // namespace lab
}  // namespace v0
}  // namespace allot
