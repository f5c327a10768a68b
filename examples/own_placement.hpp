// SPDX-License-Identifier: BSL-1.0
//
// An inventory of a host's own: machines with CPUs, memory and GPUs. It models allot::guarded_placement,
// with savepoints and a room counter of its own, and knows nothing of quotas, jobs or policies.
#pragma once

#include <allot/core/resources.hpp>
#include <allot/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace own_placement {

/// CPUs, GiB of memory, GPUs.
using amounts = allot::resources<3>;

struct machine {
  std::string name;
  amounts has{};
};

class machines {
 public:
  /// A job runs on one machine.
  using pod_request = amounts;
  /// A number that is not used twice.
  using allocation = std::uint64_t;

  explicit machines(std::vector<machine> all) {
    for (machine& m : all) nodes_.push_back({std::move(m.name), m.has, m.has});
  }

  /// Best fit: the machine that is left with the fewest GPUs, then CPUs, then memory.
  std::optional<allocation> place(const pod_request& r) {
    const node* best = nullptr;
    const auto left = [&](const node& n) {
      return std::tuple{n.free[2] - r[2], n.free[0] - r[0], n.free[1] - r[1]};
    };
    for (const node& n : nodes_) {
      if (!n.closed && all_at_most(r, n.free) && (best == nullptr || left(n) < left(*best))) best = &n;
    }
    if (best == nullptr) return std::nullopt;
    change(next_, held{static_cast<std::size_t>(best - nodes_.data()), r});
    return next_++;
  }
  /// Takes a place for a job that runs there already; nothing if there is no such machine.
  std::optional<allocation> place_at(const pod_request& r, std::size_t on) {
    if (on >= nodes_.size()) return std::nullopt;
    change(next_, held{on, r});
    return next_++;
  }
  void release(allocation a) noexcept { change(a, std::nullopt); }
  void vacate(allocation a) noexcept { change(a, held{at(a).on, at(a).what, true}); }
  void reoccupy(allocation a) noexcept { change(a, held{at(a).on, at(a).what}); }

  /// Whether those that leave the machine, those that were placed there earlier, and this one fit together.
  [[nodiscard]] bool ready(allocation a) const {
    amounts sum;
    for (const auto& [number, h] : held_) {
      if (h.on == at(a).on && (number <= a || h.leaves)) sum += h.what;
    }
    return all_at_most(sum, nodes_[at(a).on].has);
  }
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const node& n) { return all_at_most(r, n.has); });
  }

  /// Why no machine has room: how many have some, of how many, and how many lack CPUs, memory or GPUs, or are
  /// closed.
  struct refusal {
    std::size_t machines = 0;
    std::size_t with_room = 0;
    std::array<std::size_t, 3> lack{};
    std::size_t closed = 0;
    /// Then there is no place for sure.
    [[nodiscard]] bool says_no() const { return with_room == 0; }
  };
  [[nodiscard]] refusal why_not(const pod_request& r) const {
    refusal why{nodes_.size()};
    for (const node& n : nodes_) {
      why.with_room += !n.closed && all_at_most(r, n.free) ? 1U : 0U;
      why.closed += n.closed ? 1U : 0U;
      for (std::size_t d = 0; d < r.size(); ++d) why.lack[d] += !n.closed && r[d] > n.free[d] ? 1U : 0U;
    }
    return why;
  }

  /// What was overwritten since then is undone from a log.
  struct savepoint {
    std::size_t changes;
    allocation next;
  };
  [[nodiscard]] savepoint save() {
    ++open_;
    return {log_.size(), next_};
  }
  void rollback(savepoint s) noexcept {
    --open_;
    while (log_.size() > s.changes) {
      const auto [number, before] = log_.back();
      log_.pop_back();
      put(number, before);
    }
    next_ = s.next;
  }
  void commit(savepoint) noexcept {
    if (--open_ == 0) log_.clear();
  }

  // A machine that is closed takes no new jobs, and reserved ones do not start there.
  void close(std::size_t machine, bool closed = true) { nodes_[machine].closed = closed; }
  [[nodiscard]] bool contains(allocation a) const { return held_.contains(a); }
  [[nodiscard]] bool usable(allocation a) const { return !nodes_[at(a).on].closed; }

  [[nodiscard]] std::size_t machine_of(allocation a) const { return at(a).on; }
  [[nodiscard]] const std::string& name(std::size_t machine) const { return nodes_[machine].name; }
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].name == name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] const amounts& free(std::size_t machine) const { return nodes_[machine].free; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// What a host may change while a scheduler counts on the machines.
  class host_nodes {
   public:
    explicit host_nodes(machines& of) : of_(&of) {}
    void close(std::size_t machine, bool closed = true) { of_->close(machine, closed); }

   private:
    machines* of_;
  };

  /// What a scheduler asks before it moves jobs: what would fit without some of them. It counts what would be
  /// free on each machine.
  class room_counter {
   public:
    [[nodiscard]] bool begin(const machines& m, const pod_request& r) {
      request_ = r;
      free_.clear();
      for (const node& n : m.nodes_) free_.push_back(n.closed ? std::nullopt : std::optional{n.free});
      return true;
    }
    void gone(const machines& m, allocation a) {
      if (auto& free = free_[m.at(a).on]) *free += m.at(a).what;
    }
    void back(const machines& m, allocation a) {
      if (auto& free = free_[m.at(a).on]) *free -= m.at(a).what;
    }
    [[nodiscard]] bool helps(const machines& m, allocation a) const {
      const auto& free = free_[m.at(a).on];
      return free && all_at_most(request_, *free);
    }
    [[nodiscard]] std::optional<bool> fits(std::uint64_t) const {
      return std::any_of(free_.begin(), free_.end(),
                         [&](const auto& free) { return free && all_at_most(request_, *free); });
    }

    // The running jobs that may be preempted, by group: so that a search that can only fail need not begin.
    void may_go(const machines& m, std::uint32_t group, allocation a) {
      of(m, group)[m.at(a).on] += m.at(a).what;
    }
    void may_not_go(const machines& m, std::uint32_t group, allocation a) {
      of(m, group)[m.at(a).on] -= m.at(a).what;
    }
    [[nodiscard]] bool might_fit(const machines& m, const pod_request& r,
                                 std::span<const std::uint32_t> groups) {
      std::vector<amounts> gone(m.size());
      for (const std::uint32_t g : groups) {
        for (std::size_t n = 0; n < m.size(); ++n) gone[n] += of(m, g)[n];
      }
      return m.has_room(r, gone);
    }

   private:
    std::vector<amounts>& of(const machines& m, std::uint32_t group) {
      if (group >= may_go_.size()) may_go_.resize(group + 1);
      may_go_[group].resize(m.size());
      return may_go_[group];
    }

    pod_request request_;
    /// Nothing on a machine that is closed.
    std::vector<std::optional<amounts>> free_;
    std::vector<std::vector<amounts>> may_go_;
  };

  friend bool operator==(const machines& a, const machines& b) {
    return a.nodes_ == b.nodes_ && a.held_ == b.held_ && a.next_ == b.next_;
  }

 private:
  struct node {
    std::string name;
    amounts has{};
    /// What jobs that leave still use counts as free.
    amounts free{};
    bool closed = false;
    friend bool operator==(const node&, const node&) = default;
  };
  struct held {
    std::size_t on = 0;
    amounts what{};
    bool leaves = false;
    friend bool operator==(const held&, const held&) = default;
  };

  [[nodiscard]] const held& at(allocation a) const { return held_.at(a); }
  [[nodiscard]] bool has_room(const pod_request& r, const std::vector<amounts>& gone) const {
    for (std::size_t n = 0; n < size(); ++n) {
      if (!nodes_[n].closed && all_at_most(r, nodes_[n].free + gone[n])) return true;
    }
    return false;
  }
  void change(allocation a, const std::optional<held>& to) {
    const auto before = held_.find(a);
    if (open_ > 0) log_.emplace_back(a, before == held_.end() ? std::nullopt : std::optional{before->second});
    put(a, to);
  }
  void put(allocation a, const std::optional<held>& to) {
    if (const auto before = held_.find(a); before != held_.end()) {
      if (!before->second.leaves) nodes_[before->second.on].free += before->second.what;
      held_.erase(before);
    }
    if (!to) return;
    if (!to->leaves) nodes_[to->on].free -= to->what;
    held_.emplace(a, *to);
  }

  std::vector<node> nodes_;
  std::map<allocation, held> held_;
  allocation next_ = 1;
  std::vector<std::pair<allocation, std::optional<held>>> log_;
  std::size_t open_ = 0;
};

/// "0 of 3 machines have room: 2 lack CPUs, 1 lacks GPUs".
[[nodiscard]] inline std::string to_string(const machines::refusal& why) {
  std::string text =
      std::to_string(why.with_room) + " of " + std::to_string(why.machines) + " machines have room";
  const char* comma = ": ";
  const auto list = [&](std::size_t count, const char* one, const char* many) {
    if (count == 0) return;
    text.append(comma).append(std::to_string(count)).append(count == 1 ? one : many);
    comma = ", ";
  };
  list(why.lack[0], " lacks CPUs", " lack CPUs");
  list(why.lack[1], " lacks memory", " lack memory");
  list(why.lack[2], " lacks GPUs", " lack GPUs");
  list(why.closed, " is closed", " are closed");
  return text;
}

}  // namespace own_placement
