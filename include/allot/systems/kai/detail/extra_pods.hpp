// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/detail/job_queues.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace detail {

template <class Session>
class cycle_state;

/// The next pods of elastic jobs of which some are pipelined. The session knows none of them, because it lets
/// one pod wait at a time, and none before the job runs. They may be pipelined, then yield or move like any
/// other, and are forgotten at the end of the cycle.
template <class Session>
class extra_pods {
 public:
  using record = typename Session::record;
  using waiting_unit = typename job_queues<Session>::waiting_unit;

  void bind(Session& session, cycle_state<Session>& state) noexcept { session_ = &session, state_ = &state; }
  void begin_cycle() { gone_.clear(); }
  void end_cycle() {
    for (std::size_t i = 0; i < count_; ++i) state_->queues.remove_extra(pods_[i].r, pods_[i].rank);
    count_ = 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] const record& at(unit_id id) const {
    ALLOT_ASSERT(id.number() < count_, "the cycle of that extra pod is over");
    return pods_[id.number()].r;
  }
  template <class Visit>
  void for_each_of(job_id core, Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (pods_[i].r.facts.core == core) visit(pods_[i].r);
    }
  }
  /// A pod of the job was evicted: it can't be the next.
  void evicted_one_of(job_id core) { gone_.push_back(core); }

  /// Lets the next pod of the unit's job wait if there is one and no other waits.
  std::optional<waiting_unit> add_next([[maybe_unused]] const record& r) {
    if constexpr (elastic_view<typename Session::view_type>) {
      const job_id id = r.facts.elastic ? r.facts.core : r.facts.id;
      if (!state_->is_active(id)) return std::nullopt;
      const record& core = session_->jobs().at(id);
      std::uint32_t gone = 0;
      bool is_any_active = false;
      bool waits = false;
      const auto look = [&](const record& pod, bool runs) {
        const bool stands = state_->pipelined.stands(unit_id::of(pod));
        is_any_active = is_any_active || runs || stands;
        waits = waits || (pod.state == job_state::pending && !state_->pipelined.contains(unit_id::of(pod)));
      };
      for (const job_id pod : core.elastic_pods) {
        look(session_->jobs().at(pod), session_->jobs().at(pod).state == job_state::running);
      }
      for_each_of(id, [&](const record& pod) { look(pod, false), ++gone; });
      for (const job_id pod_of : gone_) gone += pod_of == id ? 1U : 0U;
      if (!waits && gone < core.pods_to_come) return add(core, core.pods_to_come - gone, is_any_active);
    }
    return std::nullopt;
  }
  /// The same for all jobs of which some pods are pipelined.
  void add_all() {
    const auto& all = state_->pipelined.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is_undone && state_->contains(all[i].id)) add_next(state_->at(all[i].id));
    }
  }

 private:
  struct extra_pod {
    record r;
    unit_rank rank;
  };

  waiting_unit add(const record& core, std::uint32_t left, bool is_any_active) {
    // Their records are used again, so that copying one allocates nothing.
    if (pods_.size() == count_) pods_.push_back({});
    extra_pod& e = pods_[count_++];
    e.r = core;
    // It is to be near the others: where they will be, if they are pipelined.
    if (const auto at = state_->place_of(core)) e.r.where = *at;
    pods_by_set more{};
    for (std::size_t i = 0; i + 1 < count_; ++i) {
      if (pods_[i].r.facts.core == core.facts.id) ++more[pods_[i].r.set];
    }
    detail::read_further_pod(e.r, session_->view(), session_->jobs().next_set(core, more));
    e.r.elastic_pods.clear();
    e.r.pods_to_come = 0;
    e.r.facts.id = {};
    e.r.ticket = static_cast<std::uint32_t>(count_ - 1);
    e.r.facts.elastic = true;
    e.r.facts.core = core.facts.id;
    e.r.state = job_state::pending;
    e.r.request_class = {};
    e.r.preempts_from = session_->preempts_from(e.r);
    e.rank = unit_rank::of(e.r, is_any_active ? 2 : 1);
    auto kind = unit_kind<Session::n>::of(*session_, e.r, more);
    kind.pods = left;
    state_->queues.add_extra(e.r, kind, e.rank);
    return {e.rank, unit_id::of(e.r), e.r.facts.request};
  }

  Session* session_ = nullptr;
  cycle_state<Session>* state_ = nullptr;
  vector<extra_pod> pods_;
  /// How many of them there are; the others are to be used again.
  std::size_t count_ = 0;
  /// The jobs of the elastic pods that were evicted, once for each.
  vector<job_id> gone_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
