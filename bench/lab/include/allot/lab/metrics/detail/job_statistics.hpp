// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/metrics/detail/waiting_times.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/lab/metrics/wait_reasons.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

/// What befell a job in the window.
struct job_hardship {
  std::uint32_t preemptions = 0;
  std::uint32_t node_failures = 0;
  /// In milli-GPUs times milliseconds.
  wide lost = 0;
};

/// Summarizes the outcome of the jobs of a simulation: of all, and by quota, class and size. `job_figures`
/// defines the figures. O(jobs), and 48 bytes per job while it works.
template <std::size_t N = 1>
class job_statistics {
 public:
  /// What was observed of the jobs; referenced.
  struct sources {
    const waiting_times& waits;
    const wait_reasons<N>& reasons;
    const per_dimension<bool, N>& gpus;
    /// Of the jobs that anything befell.
    const std::map<sim::job_index, job_hardship>& hardships;
    /// The finish-time fairness of each job in millionths, negative if it has none; of the jobs that came.
    const vector<std::int64_t>& fairness;
    time_window window{};
  };
  explicit job_statistics(const sources& from) : from_(from) {}

  /// Fills in `of` everywhere, `classes` and `sizes`. `quotas` must have its size already;
  /// a job of a quota that does not exist counts only in the others.
  void sum_up(const sim::simulator<N>& sim, run_figures& all) {
    const std::size_t jobs = sim.jobs().size();
    rows_.assign(jobs, {});
    std::uint32_t classes = 0;
    for (const sim::job<N>& j : sim.jobs()) classes = std::max(classes, j.job_class + 1);
    all.classes.assign(classes, {});
    for (sim::job_index j = 0; j < jobs; ++j) {
      const sim::job<N>& job = sim.jobs()[j];
      rows_[j].size = static_cast<std::uint8_t>(size_bucket(gpus(sim, j)));
      const sim::job_history& h = sim.history(j);
      for_each_group(all, job, rows_[j].size, [&](job_figures& f) { count(h, f); });
      if (from_.window.contains(job.submit)) measure(sim, j, all);
    }
    for (const auto& [j, befell] : from_.hardships) {
      for_each_group(all, sim.jobs()[j], rows_[j].size, [&, &befell = befell](job_figures& f) {
        f.lost += befell.lost;
        f.preemptions += befell.preemptions;
        f.node_failures += befell.node_failures;
        f.preempted_jobs += befell.preemptions > 0 ? 1 : 0;
        f.most_preemptions = std::max(f.most_preemptions, befell.preemptions);
      });
    }
    summarize_by(
        1, [](sim::job_index) { return std::size_t{0}; }, [&](std::size_t) { return &all.of; });
    summarize_by(
        all.quotas.size(), [&](sim::job_index j) { return sim.jobs()[j].quota.index(); },
        [&](std::size_t x) { return &all.quotas[x].of; });
    summarize_by(
        classes, [&](sim::job_index j) { return sim.jobs()[j].job_class; },
        [&](std::size_t c) { return &all.classes[c]; });
    summarize_by(
        all.sizes.size(), [&](sim::job_index j) { return rows_[j].size; },
        [&](std::size_t s) { return &all.sizes[s]; });
    for (sim::job_index j = 0; j < jobs; ++j) {
      const sim::job<N>& job = sim.jobs()[j];
      const instant usual = std::max(short_time, all.classes[job.job_class].queue.p50);
      if (rows_[j].first_wait / starvation_factor < usual) continue;
      if (rows_[j].first_wait == starvation_factor * usual) continue;
      for_each_group(all, job, rows_[j].size, [](job_figures& f) { ++f.starved; });
    }
  }

 private:
  static constexpr instant nothing = -1;

  enum statistic : std::size_t { jct, queue, wait, slowdown, statistics };
  struct row {
    std::array<instant, statistics> value{nothing, nothing, nothing, nothing};
    /// Until its first start, or so far.
    instant first_wait = 0;
    std::uint8_t size = 0;
  };

  /// What the job requests with all its pods, in milli-GPUs.
  [[nodiscard]] std::int64_t gpus(const sim::simulator<N>& sim, sim::job_index j) const {
    const resources<N> wanted = sim.wanted(j);
    std::int64_t milli = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (from_.gpus[d]) milli += wanted[d].in_milli();
    }
    return milli;
  }
  template <class Visit>
  static void for_each_group(run_figures& all, const sim::job<N>& job, std::size_t size, Visit visit) {
    visit(all.of);
    if (job.quota.index() < all.quotas.size()) visit(all.quotas[job.quota.index()].of);
    visit(all.classes[job.job_class]);
    visit(all.sizes[size]);
  }

  /// What happened to it, whenever it was submitted.
  static void count(const sim::job_history& h, job_figures& f) {
    ++f.jobs.total;
    switch (h.outcome) {
      case sim::job_outcome::refused:
        ++f.jobs.refused;
        return;
      case sim::job_outcome::completed:
        ++f.jobs.completed;
        break;
      case sim::job_outcome::cancelled:
        ++f.jobs.cancelled;
        break;
      case sim::job_outcome::time_limit:
        ++f.jobs.time_limit;
        break;
      case sim::job_outcome::waiting:
        ++f.jobs.unfinished;
        ++f.jobs.waiting;
        break;
      case sim::job_outcome::running:
        ++f.jobs.unfinished;
        ++f.jobs.running;
        break;
      case sim::job_outcome::future:
        ++f.jobs.unfinished;
        ++f.jobs.future;
        break;
    }
    f.failed_starts += h.failed_starts;
    f.failed_evictions += h.failed_evictions;
  }
  /// How long it took.
  void measure(const sim::simulator<N>& sim, sim::job_index j, run_figures& all) {
    const sim::job<N>& job = sim.jobs()[j];
    const sim::job_history& h = sim.history(j);
    row& r = rows_[j];
    const bool lives = h.outcome != sim::job_outcome::refused && h.outcome != sim::job_outcome::cancelled;
    const bool completed = h.outcome == sim::job_outcome::completed;
    const bool came = from_.waits.has_come(j);
    const instant waited = from_.waits.total(j, sim.now());
    const std::optional<instant> before_start = from_.waits.before_start(j);
    if (before_start) r.value[queue] = *before_start;
    if (came) r.first_wait = before_start.value_or(waited);
    if (completed) {
      const instant took = h.end - job.submit;
      r.value[jct] = took;
      r.value[wait] = waited;
      r.value[slowdown] = bounded_slowdown_in_thousandths(took, job.duration, short_time);
    }
    const auto parts = from_.reasons.split(j, waited, sim.now());
    const bool starts_never = lives && came && !before_start;
    for_each_group(all, job, r.size, [&](job_figures& f) {
      ++f.submitted;
      if (completed && j < from_.fairness.size() && from_.fairness[j] >= 0) f.fairness.add(from_.fairness[j]);
      f.came += came ? 1U : 0U;
      f.unstarted += starts_never ? 1U : 0U;
      f.max_wait = std::max(f.max_wait, r.first_wait);
      for (std::size_t c = 0; c < parts.size(); ++c) f.waited.by[c] += static_cast<wide>(parts[c]);
      if (!job.deadline || !lives) return;
      ++f.deadlines.jobs;
      f.deadlines.met += completed && h.end <= *job.deadline ? 1U : 0U;
    });
  }

  /// Sorts the jobs by group, one figure at a time, reusing memory.
  template <class GroupOf, class FiguresOf>
  void summarize_by(std::size_t groups, GroupOf group_of, FiguresOf figures_of) {
    constexpr std::array<sample_summary job_figures::*, statistics> members = {
        &job_figures::jct, &job_figures::queue, &job_figures::wait, &job_figures::slowdown};
    for (std::size_t s = 0; s < statistics; ++s) {
      ends_.assign(groups + 1, 0);
      const auto for_each_value = [&](auto visit) {
        for (sim::job_index j = 0; j < rows_.size(); ++j) {
          const std::size_t g = group_of(j);
          if (rows_[j].value[s] != nothing && g < groups) visit(g, rows_[j].value[s]);
        }
      };
      for_each_value([&](std::size_t g, instant) { ++ends_[g + 1]; });
      for (std::size_t g = 0; g < groups; ++g) ends_[g + 1] += ends_[g];
      sample_.resize(ends_[groups]);
      // Each group begins where the previous one ends, and reaches its own end as it fills.
      for_each_value([&](std::size_t g, instant value) { sample_[ends_[g]++] = value; });
      std::size_t begin = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        figures_of(g)->*members[s] = summarize(std::span{sample_}.subspan(begin, ends_[g] - begin));
        begin = ends_[g];
      }
    }
  }

  sources from_;
  vector<row> rows_;
  vector<std::size_t> ends_;
  vector<instant> sample_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
