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
///
/// Who may be asked is judged anew as victims go: a quota yields only while it still uses what others own,
/// and jobs that yield within the beneficiary's own side may be what makes its side own the request.
template <std::size_t N, victim_order<N> Order, victim_guard<N> Guard>
class victim_search {
 public:
  explicit victim_search(Order order = {}, Guard guard = {}, std::size_t budget = 100'000)
      : budget_(budget), order_(std::move(order)), guard_(std::move(guard)) {}

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; it has not been charged or placed. O((donors + victims) log donors) ledger operations, and a
  /// trial placement for each victim once the ledger accepts. The budget is the number of victims that are
  /// tried.
  template <search_world<N> World>
  search_outcome run(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b, World& world) {
    victims_.clear();
    left_ = budget_;
    if (!could_ever_fit(l, b)) return search_outcome::impossible;
    const auto allowed = [&] { return l.fits(b.quota, b.request, b.in); };
    const auto fits = [&] { return allowed() && world.could_place(); };
    for (contested_ = contested_dimensions(l, b);;) {
      taken_before_ = victims_.size();
      find_donors(l, running, b);
      const search_outcome outcome = ask_in_turn(l, b, world, fits);
      if (outcome == search_outcome::found) fill_back(l, world, fits);
      if (outcome != search_outcome::impossible || !allowed()) return outcome;
      // By now only a place is missing, and anything that is asked for may stand in its way.
      const auto wider = contested_dimensions(l, b);
      if (wider == contested_) return outcome;
      contested_ = wider;
    }
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
  /// The borrowers on the far side of one ancestor: `count` donors from `first` on. They may be asked once
  /// `side` owns the request; none stands for the own jobs of the beneficiary's quota.
  struct reach {
    quota_id side;
    std::size_t first;
    std::size_t count;
    bool open;
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
    reaches_.clear();
    queue_.clear();
    const quota_tree<N>& tree = l.tree();
    if (b.may.within != preempt_within::never) add_donor(running, b.quota, relation::same_quota);
    if (b.may.children) {
      for (const quota_id c : tree.children(b.quota)) add_descendants(tree, running, c);
    }
    for (std::size_t i = 0; i < donors_.size(); ++i) enqueue(l, b, i);
    if (b.may.reclaim != preempt_reclaim::never) find_reaches(l, running, b);
    for (const reach& r : reaches_) {
      if (r.open) enqueue_all(l, b, r);
    }
  }

  void add_donor(const running_index<N>& running, quota_id x, relation how) {
    const auto jobs = running.jobs_of(x);
    if (!jobs.empty()) donors_.push_back({x, how, jobs, jobs.size()});
  }
  void add_descendants(const quota_tree<N>& tree, const running_index<N>& running, quota_id x) {
    add_donor(running, x, relation::descendant);
    for (const quota_id c : tree.children(x)) add_descendants(tree, running, c);
  }
  /// Whoever owns the request owns it on every side above as well, so when the side below the root does not
  /// nobody does. A reach that is not open may become so as donors of the near side give, or as others give
  /// and fewer dimensions are contested.
  void find_reaches(const ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b) {
    const quota_tree<N>& tree = l.tree();
    quota_id top_side;
    for (quota_id x = b.quota; tree.parent(x); x = tree.parent(x)) top_side = x;
    const bool some_open = owns_request(l, b, top_side, contested_);
    const bool may_open = !queue_.empty() || (N > 1 && some_open);
    if (!some_open && !may_open) return;
    if (!b.may.children) add_reach(l, running, b, quota_id::none(), b.quota, may_open);
    quota_id side = b.quota;
    for (quota_id a = tree.parent(side); a; side = a, a = tree.parent(a)) {
      add_reach(l, running, b, side, a, may_open);
    }
  }
  void add_reach(const ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b, quota_id side,
                 quota_id ancestor, bool may_open) {
    const bool open = owns_request(l, b, side, contested_);
    if (!open && !may_open) return;
    const std::size_t first = donors_.size();
    for (const quota_id c : l.tree().children(ancestor)) {
      if (c != side) add_borrowers(l, running, c, contested_);
    }
    if (donors_.size() != first) reaches_.push_back({side, first, donors_.size() - first, open});
  }
  void add_borrowers(const ledger<N>& l, const running_index<N>& running, quota_id x,
                     const std::array<bool, N>& borrowed_above) {
    const auto borrowed = borrowed_dimensions(l, x, borrowed_above);
    if (borrowed == std::array<bool, N>{}) return;
    add_donor(running, x, relation::borrower);
    for (const quota_id c : l.tree().children(x)) add_borrowers(l, running, c, borrowed);
  }

  /// The dimensions in which a job must use something to be asked.
  [[nodiscard]] std::array<bool, N> dimensions_that_help(const ledger<N>& l, const beneficiary<N>& b,
                                                         const giver& g) const {
    if (g.how != relation::borrower) return contested_;
    return owed_dimensions(l, g.quota, l.tree().common_ancestor(g.quota, b.quota), contested_);
  }
  [[nodiscard]] static bool uses(const running_job<N>& job, const std::array<bool, N>& dimensions) {
    for (std::size_t d = 0; d < N; ++d) {
      if (dimensions[d] && job.request[d] > quantity{}) return true;
    }
    return false;
  }
  /// In a wider search some have been taken already.
  [[nodiscard]] bool is_taken(const running_job<N>& job) const {
    return std::any_of(victims_.begin(), victims_.begin() + static_cast<std::ptrdiff_t>(taken_before_),
                       [&](const victim<N>& v) { return v.job.id == job.id; });
  }

  /// Makes the next job that may be asked the giver's next. What it may not be asked for now, it may not be
  /// asked for later either: others only give back what they owe.
  [[nodiscard]] bool find_next(const ledger<N>& l, const beneficiary<N>& b, giver& g) const {
    const auto help = dimensions_that_help(l, b, g);
    if (help == std::array<bool, N>{}) return false;
    while (g.left > 0 && !(uses(g.next(), help) && may_preempt(b, g.next(), g.how) && !is_taken(g.next()))) {
      --g.left;
    }
    return g.left > 0;
  }
  void enqueue(const ledger<N>& l, const beneficiary<N>& b, std::size_t i) {
    giver& g = donors_[i];
    if (!find_next(l, b, g)) return;
    queue_.emplace_back(order_(l, donor<N>{g.quota, g.how, g.next()}), i);
    std::push_heap(queue_.begin(), queue_.end(), yields_later{});
  }
  void enqueue_all(const ledger<N>& l, const beneficiary<N>& b, const reach& r) {
    for (std::size_t i = r.first; i < r.first + r.count; ++i) enqueue(l, b, i);
  }

  template <class World, class Fits>
  search_outcome ask_in_turn(ledger<N>& l, const beneficiary<N>& b, World& world, Fits fits) {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), yields_later{});
      const std::size_t i = queue_.back().second;
      queue_.pop_back();
      giver& g = donors_[i];
      // Others have yielded since: this quota may owe less than it did.
      if (g.how == relation::borrower && !uses(g.next(), dimensions_that_help(l, b, g))) {
        enqueue(l, b, i);
        continue;
      }
      const donor<N> d{g.quota, g.how, g.next()};
      if (!guard_(l, b, d)) continue;
      if (left_ == 0) return search_outcome::not_proven;
      --left_;
      l.release(g.quota, d.next.request, d.next.in);
      world.take_off(d.next);
      victims_.push_back({d.next, g.how});
      if (fits()) return search_outcome::found;
      --g.left;
      enqueue(l, b, i);
      if (narrow(l, b) || g.how != relation::borrower) open_reaches(l, b);
    }
    return search_outcome::impossible;
  }
  /// What fits by now is not contested any more; returns whether there is such a dimension.
  [[nodiscard]] bool narrow(const ledger<N>& l, const beneficiary<N>& b) {
    if (N == 1 || l.fits(b.quota, b.request, b.in)) return false;
    const auto still = contested_dimensions(l, b);
    return std::exchange(contested_, still) != still;
  }
  void open_reaches(const ledger<N>& l, const beneficiary<N>& b) {
    for (reach& r : reaches_) {
      if (r.open || !owns_request(l, b, r.side, contested_)) continue;
      r.open = true;
      enqueue_all(l, b, r);
    }
  }

  /// The last victim was needed with all the others gone, so it is needed with fewer gone.
  template <class World, class Fits>
  void fill_back(ledger<N>& l, World& world, Fits fits) {
    std::size_t needed = victims_.size() - 1;
    for (std::size_t i = needed; i-- > 0;) {
      const running_job<N>& job = victims_[i].job;
      l.charge(job.quota, job.request, job.in);
      world.put_back(job);
      if (fits()) continue;
      l.release(job.quota, job.request, job.in);
      world.take_off(job);
      victims_[--needed] = victims_[i];
    }
    victims_.erase(victims_.begin(), victims_.begin() + static_cast<std::ptrdiff_t>(needed));
  }

  std::array<bool, N> contested_{};
  std::vector<giver> donors_;
  std::vector<reach> reaches_;
  std::vector<std::pair<key, std::size_t>> queue_;
  std::vector<victim<N>> victims_;
  /// How many of them were found before the search was widened.
  std::size_t taken_before_ = 0;
  std::size_t budget_;
  std::size_t left_ = 0;
  [[no_unique_address]] Order order_;
  [[no_unique_address]] Guard guard_;
};

}  // namespace v0
}  // namespace allot
