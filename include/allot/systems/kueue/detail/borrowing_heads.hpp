// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/winner_trees.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/flavor_assignment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The head of a quota in one cycle: its first job.
struct cycle_head {
  quota_id quota;
  quota_id root;
  job_id job;
  std::int64_t priority = 0;
  instant submitted = 0;
  std::uint64_t order = 0;
};

/// Whether one head precedes another by itself: higher priority, then earlier submission, then its id.
[[nodiscard]] bool goes_first(const auto& a, const auto& b) noexcept {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  return a.order != b.order ? a.order < b.order : a.job < b.job;
}

namespace detail {

/// The heads that start by a loan from the root of their tree or not at all: their quotas own less than they
/// request, and preempt nobody for it. While such a head does not fit, nothing in a cycle depends on it. So a
/// cycle need not judge them all, only those that fit, in its order, until no more do. Users with quotas of
/// next to nothing are like that.
///
/// Each has its row in the winner tree of its root, with what it would draw on the root: a change concerns
/// its own quota alone. `Standing` is what the order of the cycle compares before priority and age.
template <std::size_t N, class Standing>
class borrowing_heads {
 public:
  struct head : cycle_head {
    resources<N> request{};
    loan_level borrows = 0;
    Standing standing{};
    /// The number of its equivalence class: heads of one class have the same chances of a place.
    std::size_t request_class = 0;
  };
  /// Whether one comes before another of the same tree.
  [[nodiscard]] static bool before(const head& a, const head& b) {
    if (const auto o = a.standing <=> b.standing; o != 0) return o < 0;
    return goes_first(a, b);
  }

  /// Starts without any. O(n).
  void reset(const quota_tree<N>& tree) {
    rows_.assign(tree.slots(), row{});
    matches_.reset(tree, 0,
                   [&](quota_id x, std::size_t, std::size_t player) { rows_[x.index()].player = player; });
    least_.assign(matches_.nodes(), resources<N>{quantity::unlimited()});
    classes_.clear();
    present_.clear();
  }

  [[nodiscard]] bool contains(quota_id x) const { return rows_[x.index()].present; }
  [[nodiscard]] const head& of(quota_id x) const { return rows_[x.index()].what; }
  /// Whether the tree of that root has any.
  [[nodiscard]] bool any(quota_id root) const { return matches_.winner(root.index()) != winner_trees::none; }
  /// Adds one of a quota that has none. O(log children).
  void enter(const ledger<N>& l, const head& h) {
    row& r = rows_[h.quota.index()];
    r.what = h;
    r.present = true;
    resources<N>& draws = least_[matches_.leaf(h.root.index(), r.player)];
    for (std::size_t d = 0; d < N; ++d) draws[d] = l.passed_up(h.quota, d, h.request[d]);
    play(l.tree(), h.root, r);
    const std::size_t c = h.request_class;
    if (c >= classes_.size()) classes_.resize(std::max(c + 1, 2 * classes_.size()));
    if (classes_[c].empty()) present_.push_back(c);
    r.at = classes_[c].size();
    classes_[c].push_back(h.quota);
  }
  /// Takes out that of x, if it has one. O(log children).
  void leave(const quota_tree<N>& tree, quota_id x) {
    row& r = rows_[x.index()];
    if (!r.present) return;
    r.present = false;
    least_[matches_.leaf(r.what.root.index(), r.player)] = resources<N>{quantity::unlimited()};
    play(tree, r.what.root, r);
    vector<quota_id>& same = classes_[r.what.request_class];
    rows_[same.back().index()].at = r.at;
    same[r.at] = same.back();
    same.pop_back();
    if (same.empty()) erase(present_, r.what.request_class);
  }

  /// The first in the tree of that root that fits as the ledger stands, null if none does. O(log children) if
  /// there is room for the first in order below each match; at worst all that fit are looked at.
  [[nodiscard]] const head* first_that_fits(const ledger<N>& l, quota_id root) const {
    const auto players = l.tree().children(root);
    const auto of_player = [&](std::size_t p) -> const head& { return rows_[players[p].index()].what; };
    resources<N> room;
    for (std::size_t d = 0; d < N; ++d) room[d] = std::max(quantity{}, l.room(root, d));
    const std::size_t first = matches_.first_where(
        root.index(), [&](std::size_t a, std::size_t b) { return before(of_player(a), of_player(b)); },
        [&](std::size_t node) {
          for (std::size_t d = 0; d < N; ++d) {
            if (least_[node][d] > room[d]) return false;
          }
          return true;
        },
        [&](std::size_t p) { return l.fits(players[p], of_player(p).request); });
    return first == winner_trees::none ? nullptr : &of_player(first);
  }
  /// Calls `visit(quota)`, which may take it out, for the heads of each class for whose members
  /// `has_place(job)` is false.
  template <class HasPlace, class Visit>
  void for_each_unplaceable(HasPlace has_place, Visit visit) const {
    for (std::size_t i = present_.size(); i-- > 0;) {
      const vector<quota_id>& same = classes_[present_[i]];
      if (has_place(of(same.front()).job)) continue;
      for (std::size_t left = same.size(); left-- > 0;) visit(same[left]);
    }
  }

 private:
  struct row {
    head what{};
    bool present = false;
    std::size_t player = 0;
    /// Its place among those of its class.
    std::size_t at = 0;
  };

  void play(const quota_tree<N>& tree, quota_id root, const row& r) {
    const auto players = tree.children(root);
    matches_.play(
        root.index(), r.player, r.present,
        [&](std::size_t a, std::size_t b) {
          return before(rows_[players[a].index()].what, rows_[players[b].index()].what);
        },
        [&](std::size_t node, std::size_t left, std::size_t right) {
          for (std::size_t d = 0; d < N; ++d) least_[node][d] = std::min(least_[left][d], least_[right][d]);
        });
  }

  vector<row> rows_;
  winner_trees matches_;
  /// By node of a winner tree: the least that a head below it would draw on the root.
  vector<resources<N>> least_;
  /// By the index of a class: the quotas whose heads are of it; and which classes have any.
  vector<vector<quota_id>> classes_;
  vector<std::size_t> present_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
