// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/systems/kai/runai.hpp>

#include <stdexcept>

#include "tests/support/kai_world.hpp"

namespace allot_test {

/// Walks from unit to unit: every one takes a turn of its own, also where nothing can be done for it, and
/// every search is made, and what is left is not counted where nodes know it. The plans are those of
/// `job_walk`, which passes many at a time; it only takes longer.
template <class Session>
class one_by_one_walk : public allot::detail::job_walk<Session> {
 public:
  static constexpr bool takes_shortcuts = false;

  template <class IsGood>
  [[nodiscard]] bool has_left(IsGood) const {
    return !this->is_over();
  }
  template <class Request>
  [[nodiscard]] bool has_seen(const Request&) const {
    return false;
  }
};

struct one_by_one_policies : allot::kai_policies {
  template <class Session>
  using cycle = allot::action_cycle<Session, one_by_one_policies, one_by_one_walk<Session>>;
};

/// It can't tell whether a pod would fit without some jobs: every scenario is tried.
class blind_inventory : public allot::gpu::inventory {
 public:
  using base = allot::gpu::inventory;
  using base::base;
  using room_counter = allot::no_room_counter;
};

/// Decides in that way. Where it is to decide although nothing has changed, it rebuilds its queues first: its
/// own tree is applied to it again.
class one_by_one_world : public basic_kai_world<blind_inventory, one_by_one_policies> {
 public:
  using basic_kai_world::basic_kai_world;

  void retry() {
    if (!scheduler().apply({})) throw std::logic_error{"its own tree is refused"};
  }
};

}  // namespace allot_test
