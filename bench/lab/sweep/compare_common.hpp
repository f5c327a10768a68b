// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/errors.hpp"
#include "lab/sweep/compare.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether the sides of a comparison completed, and started, the same jobs, as far as their counts tell.
enum class same_jobs : std::uint8_t {
  yes,
  /// As many, but not all: they need not be the same.
  perhaps,
  no,
};
[[nodiscard]] same_jobs completed_by(const vector<const run_group*>& sides);
[[nodiscard]] same_jobs started_by(const vector<const run_group*>& sides);

/// Which figures of a comparison are means over other jobs on each side.
struct other_jobs {
  same_jobs completed = same_jobs::yes;
  same_jobs started = same_jobs::yes;

  /// " *" for a figure over jobs that are not the same on every side, else empty.
  [[nodiscard]] std::string_view mark_of(std::string_view figure) const;
};
[[nodiscard]] other_jobs other_jobs_of(const vector<const run_group*>& sides);
/// What the mark means: how many jobs each side completed and started, and what to do about it. Empty if
/// nothing is marked.
[[nodiscard]] std::string remark_on_jobs(const other_jobs& jobs, const vector<const run_group*>& sides);

/// Adds to every run the figures "common/...": of the jobs that were completed in every run with its seed,
/// one on each side (with one run per side, whatever the seeds). Sides are compared within their set. Reads
/// the jobs.csv beside each summary, and reports those that are not there.
void add_common_figures(vector<run_group>& groups, errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
