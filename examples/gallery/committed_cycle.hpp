// SPDX-License-Identifier: BSL-1.0
// A cycle that keeps to its choice: the job with the least rank is next, and stays next until it fits, even
// if a better one arrives. Nothing is preempted.
//
// If the head of its quota is `strict`, no other job starts in the meantime. Otherwise jobs start, by
// submission, that are estimated to end before the chosen one can start; that time is estimated once, when it
// is chosen. A job that would run longer does not start, even on GPUs that the chosen one leaves free.
//
// A rank is `rank(session, record)`, the least first, ties by submission. Elastic jobs are not started. The
// choice is not part of a state: a resumed scheduler chooses again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cycle_parts.hpp"

template <class Session, class Rank>
class committed_cycle {
  using id = allot::job_id;
  using record = typename Session::record;
  Rank rank_;
  std::optional<id> chosen_{};
  /// When it can start, as estimated when it was chosen.
  allot::instant starts_ = 0;

 public:
  template <class Policies>
  explicit committed_cycle(const Policies& p) : rank_(p.by) {}
  void reset(Session&) { chosen_.reset(); }

  void run(Session& s) {
    for (;; chosen_.reset()) {
      std::vector<id> waiting = jobs_in(s);
      std::erase_if(waiting, [&](id j) { return s.jobs().state(j) != allot::job_state::pending; });
      if (waiting.empty()) return;
      const bool is_new = !chosen_ || std::find(waiting.begin(), waiting.end(), *chosen_) == waiting.end();
      if (is_new) chosen_ = first(s, waiting, rank_);
      const record& head = s.jobs().at(*chosen_);
      if (start(s, head)) continue;
      if (s.queues().settings(head.facts.quota).head == allot::queue_head::strict) return;
      if (is_new) starts_ = start_of(s, head);
      std::sort(waiting.begin(), waiting.end(), [&](id a, id b) {
        return std::pair{s.view().submitted(s.jobs().at(a).what), a} <
               std::pair{s.view().submitted(s.jobs().at(b).what), b};
      });
      for (const id j : waiting) {
        const record& r = s.jobs().at(j);
        if (j != *chosen_ && end_of(s, r, s.now()) < starts_) start(s, r);
      }
      return;
    }
  }

 private:
  static id first(const Session& s, const std::vector<id>& waiting, const Rank& rank) {
    const auto key = [&](id j) {
      const record& r = s.jobs().at(j);
      return std::tuple{rank(s, r), s.view().submitted(r.what), j};
    };
    return *std::min_element(waiting.begin(), waiting.end(), [&](id a, id b) { return key(a) < key(b); });
  }
  static bool start(Session& s, const record& r) {
    if (!has_room(s, r)) return false;
    s.admit(r.facts.id, *s.books().places.place(r.pod_request));
    return true;
  }
  /// When it ends, as estimated; without an estimate, never.
  static allot::instant end_of(const Session& s, const record& r, allot::instant start) {
    const allot::instant estimate = s.view().estimate(r.what);
    return estimate == 0 ? std::numeric_limits<allot::instant>::max() : start + estimate;
  }
  /// When running jobs will have left it room, the first to end first.
  static allot::instant start_of(Session& s, const record& r) {
    std::vector<std::pair<allot::instant, id>> ends;
    for (const allot::quota_id x : s.tree().top_down()) {
      for (const auto& run : s.books().running().jobs_of(x)) {
        const record& of = s.jobs().at(run.id);
        ends.emplace_back(end_of(s, of, of.facts.started), run.id);
      }
    }
    std::sort(ends.begin(), ends.end());
    auto& ledger = s.books().assumed();
    auto& places = s.books().places;
    auto as_placed = places.save();
    const auto as_charged = ledger.save();
    allot::instant at = s.now();
    for (std::size_t i = 0; i < ends.size() && !has_room(s, r); ++i) {
      const record& gone = s.jobs().at(ends[i].second);
      places.vacate(gone.where);
      ledger.release(gone.facts.quota, gone.facts.request, gone.facts.in);
      at = ends[i].first;
    }
    ledger.rollback(as_charged);
    places.rollback(std::move(as_placed));
    return at;
  }
};

template <class Rank>
using committed_policies = cycle_policies<committed_cycle, Rank>;
