// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/victim_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

enum class search_outcome : std::uint8_t {
  found,
  /// No set of eligible victims makes room.
  impossible,
  /// The budget was used up first: nothing is known.
  not_proven,
};

/// The placement side of a search: a callable bundle that takes jobs off their places, puts them back (only
/// jobs it has taken off), and says whether the beneficiary could be placed now.
template <class World, std::size_t N>
concept search_world = requires(World world, const running_job<N>& job) {
  world.take_off(job);
  world.put_back(job);
  { world.could_place() } -> std::same_as<bool>;
};

template <std::size_t N>
struct victim {
  running_job<N> job{};
  relation how = relation::borrower;
};

/// Finds who must yield so that a request fits.
///
/// Victims are taken in order until ledger and placement accept the request; then, in reverse, whoever turned
/// out unnecessary is let go, so that no victim can be taken out of the result. Jobs go whole. All changes
/// are made in the ledger and the world as they are found, under the caller's savepoints; when the search
/// fails the caller rolls back. Buffers are kept from one search to the next.
template <std::size_t N, victim_order<N> Order, victim_guard<N> Guard>
class victim_search {
 public:
  explicit victim_search(Order order = {}, Guard guard = {}, std::size_t budget = 100'000)
      : budget_(budget), order_(std::move(order)), guard_(std::move(guard)) {}

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; it has not been charged or placed. O((donors + victims) log donors) ledger operations, and a
  /// trial placement for each victim once the ledger accepts.
  template <search_world<N> World>
  search_outcome run(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b, World& world) {
    victims_.clear();
    if (!could_ever_fit(l, b)) return search_outcome::impossible;
    find_donors(l, running, b);
    if (queue_.empty()) return search_outcome::impossible;
    const auto fits = [&] { return l.fits(b.quota, b.request, b.in) && world.could_place(); };
    std::size_t left = budget_;
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), yields_later{});
      giver& g = donors_[queue_.back().second];
      queue_.pop_back();
      if (g.how == relation::borrower && !still_borrows(l, b, g.quota)) continue;
      const donor<N> d{g.quota, g.how, g.next()};
      if (!guard_(l, b, d)) continue;
      if (left-- == 0) return search_outcome::not_proven;
      l.release(g.quota, d.next.request, d.next.in);
      world.take_off(d.next);
      victims_.push_back({d.next, g.how});
      if (fits()) {
        fill_back(l, world, fits);
        return search_outcome::found;
      }
      --g.left;
      enqueue(l, b, g);
    }
    return search_outcome::impossible;
  }

  /// The victims of the last successful search, in the order in which they were chosen.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  /// A donor with those of its jobs that may still be asked: the first `left`, the next one last.
  struct giver {
    quota_id quota;
    relation how;
    std::span<const running_job<N>> jobs;
    std::size_t left;

    [[nodiscard]] const running_job<N>& next() const { return jobs[left - 1]; }
  };
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const donor<N>&>()));
  struct yields_later {
    bool operator()(const std::pair<key, std::size_t>& a, const std::pair<key, std::size_t>& b) const {
      return b < a;
    }
  };

  /// Victims never make room beyond what the quota could use with everyone else idle, nor in the guaranteed
  /// lane, whose jobs are none.
  [[nodiscard]] static bool could_ever_fit(const ledger<N>& l, const beneficiary<N>& b) {
    for (std::size_t d = 0; d < N; ++d) {
      if (b.request[d] == quantity{}) continue;
      bool possible = b.request[d] <= l.potential(b.quota, d);
      l.for_each_bound(b.quota, d, b.in, [&](quota_id, quantity room, bool of_any_lane) {
        possible = possible && (of_any_lane || b.request[d] <= room);
      });
      if (!possible) return false;
    }
    return true;
  }

  void find_donors(const ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b) {
    donors_.clear();
    queue_.clear();
    contested_ = contested_dimensions(l, b);
    const quota_tree<N>& tree = l.tree();
    if (b.may.within != preempt_within::never) add_donor(running, b.quota, relation::same_quota);
    if (b.may.children) {
      for (const quota_id c : tree.children(b.quota)) add_descendants(tree, running, c);
    }
    if (b.may.reclaim != preempt_reclaim::never) {
      quota_id side = b.quota;
      for (quota_id a = tree.parent(side); a; side = a, a = tree.parent(a)) {
        if (!owns_request(l, b, side, contested_)) continue;
        for (const quota_id c : tree.children(a)) {
          if (c != side) add_borrowers(l, running, c);
        }
      }
    }
    for (giver& g : donors_) enqueue(l, b, g);
  }

  void add_donor(const running_index<N>& running, quota_id x, relation how) {
    const auto jobs = running.jobs_of(x);
    if (!jobs.empty()) donors_.push_back({x, how, jobs, jobs.size()});
  }
  void add_descendants(const quota_tree<N>& tree, const running_index<N>& running, quota_id x) {
    add_donor(running, x, relation::descendant);
    for (const quota_id c : tree.children(x)) add_descendants(tree, running, c);
  }
  /// A quota within what it has covers what its subtree borrows from one another: nobody below it owes
  /// anything to the outside.
  void add_borrowers(const ledger<N>& l, const running_index<N>& running, quota_id x) {
    if (!borrows(l, x, contested_)) return;
    add_donor(running, x, relation::borrower);
    for (const quota_id c : l.tree().children(x)) add_borrowers(l, running, c);
  }
  /// Whether x and every quota between it and the common ancestor still use more than they own.
  [[nodiscard]] bool still_borrows(const ledger<N>& l, const beneficiary<N>& b, quota_id x) const {
    const quota_id top = l.tree().common_ancestor(x, b.quota);
    for (; x != top; x = l.tree().parent(x)) {
      if (!borrows(l, x, contested_)) return false;
    }
    return true;
  }

  [[nodiscard]] bool helps(const running_job<N>& job) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (contested_[d] && job.request[d] > quantity{}) return true;
    }
    return false;
  }

  /// Queues the donor with its next eligible job, if it has one.
  void enqueue(const ledger<N>& l, const beneficiary<N>& b, giver& g) {
    while (g.left > 0 && !(helps(g.next()) && may_preempt(b, g.next(), g.how))) --g.left;
    if (g.left == 0) return;
    queue_.emplace_back(order_(l, donor<N>{g.quota, g.how, g.next()}),
                        static_cast<std::size_t>(&g - donors_.data()));
    std::push_heap(queue_.begin(), queue_.end(), yields_later{});
  }

  /// The last victim was needed with all the others gone, so it is needed with fewer gone.
  template <class World, class Fits>
  void fill_back(ledger<N>& l, World& world, Fits fits) {
    for (std::size_t i = victims_.size() - 1; i-- > 0;) {
      const running_job<N>& job = victims_[i].job;
      l.charge(job.quota, job.request, job.in);
      world.put_back(job);
      if (fits()) {
        victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        l.release(job.quota, job.request, job.in);
        world.take_off(job);
      }
    }
  }

  std::array<bool, N> contested_{};
  std::vector<giver> donors_;
  std::vector<std::pair<key, std::size_t>> queue_;
  std::vector<victim<N>> victims_;
  std::size_t budget_;
  [[no_unique_address]] Order order_;
  [[no_unique_address]] Guard guard_;
};

}  // namespace v0
}  // namespace allot
