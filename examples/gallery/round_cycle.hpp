// SPDX-License-Identifier: BSL-1.0
// A cycle of rounds on GPUs of several models, as in Gavel (see gavel_models.hpp): each job is due a part of
// the time on each model. In each round the jobs that are furthest behind on a model run there; within a
// round running jobs go on, and others start where there is room. What a job is owed is kept when the parts
// change, that is, whenever jobs come or go.
//
// `parts(session, jobs, capacity)` are the parts by job, in millionths; `capacity` has the GPUs of each
// model in thousandths. A job without parts never runs.
#pragma once

#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cycle_parts.hpp"

/// By GPU model.
using by_model = std::vector<std::int64_t>;
inline constexpr std::int64_t whole_part = 1'000'000;

template <class Session, class Parts>
class round_cycle {
  using id = allot::job_id;
  using record = typename Session::record;
  static constexpr allot::instant round = 360'000;
  /// What a job is due, in millionths of milliseconds, and where it runs.
  struct account {
    by_model part, due;
    std::optional<std::size_t> on{};
  };
  Parts parts_;
  std::map<id, account> accounts_;
  allot::instant since_ = 0;

 public:
  template <class Policies>
  explicit round_cycle(const Policies& p) : parts_(p.by) {}
  void reset(Session&) {}

  void run(Session& s) {
    if (!s.books().places.has_nodes()) return;
    const std::vector<id> jobs = jobs_in(s);
    const by_model capacity = capacity_of(s);
    for (auto& [j, a] : accounts_) {
      for (std::size_t m = 0; m < a.part.size(); ++m)
        a.due[m] += (s.now() - since_) * (a.part[m] - (a.on == m ? whole_part : 0));
    }
    since_ = s.now();
    const auto is_known = [&](id j) { return accounts_.count(j) != 0; };
    if (jobs.size() != accounts_.size() || !std::all_of(jobs.begin(), jobs.end(), is_known)) {
      const std::map<id, by_model> parts = parts_(s, jobs, capacity);
      const std::map<id, account> before = std::exchange(accounts_, {});
      for (const id j : jobs) {
        account& a = accounts_[j];
        if (const auto was = before.find(j); was != before.end()) a.due = was->second.due;
        if (const auto its = parts.find(j); its != parts.end()) a.part = its->second;
        a.due.resize(a.part.size());
      }
    }
    decide(s, jobs, capacity);
    for (auto& [j, a] : accounts_) a.on = model_of(s, s.jobs().at(j));
  }
  [[nodiscard]] std::optional<allot::instant> wakes_at(const Session& s) const {
    return accounts_.empty() ? std::nullopt : std::optional{(s.now() / round + 1) * round};
  }

 private:
  [[nodiscard]] static std::optional<std::size_t> model_of(const Session& s, const record& r) {
    if (r.state != allot::job_state::running) return std::nullopt;
    const auto& nodes = s.books().places.inventory();
    return nodes.layout().type_of((*nodes.pods(r.where).begin()).where.node).model;
  }
  [[nodiscard]] static by_model capacity_of(const Session& s) {
    const auto& layout = s.books().places.inventory().layout();
    by_model all;
    for (std::size_t m = 0; m < layout.models().size(); ++m)
      all.push_back(layout.gpus_in(allot::gpu::all_pools, std::uint64_t{1} << m).in_milli());
    return all;
  }
  void decide(Session& s, const std::vector<id>& jobs, by_model left) const {
    std::vector<std::tuple<bool, std::int64_t, std::int64_t, allot::instant, id, std::size_t>> turns;
    for (const id j : jobs) {
      const record& r = s.jobs().at(j);
      const account& a = accounts_.at(j);
      // The model that it runs on and keeps within a round; else one beyond all.
      const std::size_t stays = s.now() % round == 0 ? a.part.size() : model_of(s, r).value_or(a.part.size());
      for (std::size_t m = 0; m < a.part.size(); ++m) {
        if (a.part[m] == 0 && stays != m) continue;
        turns.emplace_back(stays != m, -a.due[m], -a.part[m], s.view().submitted(r.what), j, m);
      }
    }
    std::sort(turns.begin(), turns.end());
    std::vector<std::pair<id, std::size_t>> chosen;
    std::map<id, std::size_t> model;
    for (const auto& [waits, due, part, submitted, j, m] : turns) {
      const std::int64_t size = s.view().request(s.jobs().at(j).what)[0].in_milli();
      if (size > left[m] || !model.emplace(j, m).second) continue;
      left[m] -= size;
      chosen.emplace_back(j, m);
    }
    bool leaves = false;
    for (const id j : jobs) {
      const auto on = model_of(s, s.jobs().at(j));
      const auto to = model.find(j);
      if (!on || (to != model.end() && to->second == *on)) continue;
      s.evict(j, {}, allot::relation::same_quota);
      leaves = true;
    }
    // Their GPUs are free once they have left, and the step after that starts the others.
    for (const auto& [j, m] : chosen) {
      const record& r = s.jobs().at(j);
      if (leaves || r.state != allot::job_state::pending) continue;
      auto request = r.pod_request;
      request.models &= std::uint64_t{1} << m;
      if (!s.books().assumed().fits(r.facts.quota, r.facts.request, r.facts.in)) continue;
      if (const auto place = s.books().places.place(request)) s.admit(j, *place);
    }
  }
};

/// Policies of such a cycle, on one queue without quotas as `fifo` has it.
template <class Parts>
using round_policies = cycle_policies<round_cycle, Parts>;
