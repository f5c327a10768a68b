// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/detail/books.hpp>
#include <allot/scheduler/detail/job_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace detail {

/// The jobs that were decided on and wait for evictions, in the order of the decisions, and the evictions for
/// each.
///
/// That a job fits the current allocation is not enough to start it: what the first victim of a gang has left
/// is not available to a smaller job that was decided on later. A job may start when it still fits with all
/// earlier jobs there and their victims gone: then it delays none of them.
template <job_view View, placement Placement>
class nominated_jobs {
 public:
  using books_type = books<View, Placement>;
  using table = job_table<job_record<View, Placement>>;

  /// A job on its way out, and for which job.
  struct departure {
    job_id job;
    job_id beneficiary;
    /// By `next_number`.
    std::uint64_t number = 0;
    /// Whether it was for a job that does not need it any more.
    bool is_unneeded = false;
  };

  /// Adds a job that waits for evictions, after those already waiting.
  void add(job_id beneficiary) { waiting_.push_back(beneficiary); }
  /// A job is being evicted for the one that is added next, or for none in particular.
  void expect(job_id leaving, job_id beneficiary = {}, bool is_unneeded = false) {
    leaving_.push_back({leaving, beneficiary, next_number_++, is_unneeded});
  }
  /// Counts the evictions and what is decided on otherwise: the number of the next one.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }
  /// A job is decided on. Returns its number.
  std::uint64_t take_number() noexcept { return next_number_++; }
  /// The beneficiary of the evicting job, if it waits.
  [[nodiscard]] job_id beneficiary_of(job_id leaving) const {
    const auto at = detail::find_if(leaving_.begin(), leaving_.end(),
                                    [&](const departure& d) { return d.job == leaving; });
    return at == leaving_.end() ? job_id{} : at->beneficiary;
  }
  /// The number of the eviction of that job.
  [[nodiscard]] std::uint64_t number_of(job_id leaving) const {
    return detail::find_if(leaving_.begin(), leaving_.end(),
                           [&](const departure& d) { return d.job == leaving; })
        ->number;
  }
  /// The job has gone.
  void left(job_id leaving) {
    erase_if(leaving_, [&](const departure& d) { return d.job == leaving; });
  }
  /// The job no longer waits; evictions still due for it are now for none in particular.
  void remove(job_id beneficiary) {
    erase(waiting_, beneficiary);
    for (departure& d : leaving_) {
      if (d.beneficiary != beneficiary) continue;
      d.beneficiary = {};
      d.is_unneeded = true;
    }
  }
  /// The same; the evictions are for `heir`, which is added next.
  void hand_over(job_id beneficiary, job_id heir) {
    const auto is_for_it = [&](const departure& d) { return d.beneficiary == beneficiary; };
    const auto first = detail::find_if(leaving_.begin(), leaving_.end(), is_for_it);
    auto last = first;
    for (; last != leaving_.end() && is_for_it(*last); ++last) last->beneficiary = heir;
    std::rotate(first, last, leaving_.end());
    erase(waiting_, beneficiary);
  }
  /// The waiting jobs, in the order of the decisions.
  [[nodiscard]] const vector<job_id>& waiting() const noexcept { return waiting_; }
  /// Those that are being evicted. Grouped by beneficiary, in the order in which the beneficiaries wait.
  [[nodiscard]] const vector<departure>& leaving() const noexcept { return leaving_; }

  /// Calls `start(id)` for each job with `is_asked(id)` that may start now, and removes it. O(waiting +
  /// leaving), once more for each that starts before all its victims have gone.
  template <class IsAsked, class Start>
  void start_ready(books_type& b, const table& jobs, IsAsked is_asked, Start start) {
    for (bool again = true; again;) {
      again = false;
      judge(b, jobs);
      for (std::size_t i = 0; i < waiting_.size() && !again;) {
        const job_id id = waiting_[i];
        if (!may_start_[i] || !is_asked(id) || !b.ready(jobs[id])) {
          ++i;
          continue;
        }
        again = detail::any_of(leaving_.begin(), leaving_.end(),
                               [&](const departure& d) { return d.beneficiary == id; });
        remove(id);
        may_start_.erase(may_start_.begin() + static_cast<std::ptrdiff_t>(i));
        start(id);
      }
    }
  }

  /// Whether the job that was assumed last may start at once, without waiting behind the nominated ones.
  [[nodiscard]] bool may_start(books_type& b, const table& jobs, const job_record<View, Placement>& r) const {
    if (!b.ready(r)) return false;
    const auto goes_for_none = [](const departure& d) { return d.beneficiary.is_none(); };
    if (detail::none_of(leaving_.begin(), leaving_.end(), goes_for_none)) return true;
    return b.suppose([&](auto& l) {
      l.release(r.facts.quota, r.facts.request, r.facts.in);
      for (const departure& d : leaving_) {
        if (goes_for_none(d) && !charge(l, jobs[d.job])) return false;
      }
      return l.fits(r.facts.quota, r.facts.request, r.facts.in);
    });
  }

 private:
  /// Returns false, and has changed nothing, if the sum would overflow.
  template <class Ledger>
  [[nodiscard]] static bool charge(Ledger& l, const job_record<View, Placement>& r) {
    if (!l.can_count(r.facts.quota, r.facts.request)) return false;
    l.charge(r.facts.quota, r.facts.request, r.facts.in);
    return true;
  }

  /// Goes from the last job to the first, taking each out of the books and putting its victims back in.
  void judge(books_type& b, const table& jobs) {
    may_start_.assign(waiting_.size(), leaving_.empty());
    if (leaving_.empty()) return;
    b.suppose([&](auto& l) {
      for (const departure& d : leaving_) {
        if (d.beneficiary.is_none() && !charge(l, jobs[d.job])) return false;
      }
      auto victim = leaving_.rbegin();
      for (std::size_t i = waiting_.size(); i-- > 0;) {
        const auto& f = jobs[waiting_[i]].facts;
        l.release(f.quota, f.request, f.in);
        for (; victim != leaving_.rend(); ++victim) {
          if (victim->beneficiary.is_none()) continue;
          if (victim->beneficiary != waiting_[i]) break;
          if (!charge(l, jobs[victim->job])) return false;
        }
        may_start_[i] = l.fits(f.quota, f.request, f.in);
      }
      return true;
    });
  }

  vector<job_id> waiting_;
  vector<departure> leaving_;
  std::uint64_t next_number_ = 1;
  vector<bool> may_start_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
