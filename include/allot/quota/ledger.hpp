// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/supply.hpp>
#include <allot/quota/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// The capacity that a job may use; in a query, the jobs whose usage is considered.
enum class capacity_kind : std::uint8_t {
  /// A job may also use what its quota borrows, and may have to give it back. A query considers all jobs.
  any,
  /// A job uses only what its quota is guaranteed, so it never has to be preempted (KAI's non-preemptible
  /// jobs, Mesos' non-revocable resources): these jobs alone satisfy the law with every borrow limit 0. A
  /// query considers only these jobs.
  guaranteed,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(capacity_kind value) noexcept {
  switch (value) {
    case capacity_kind::any:
      return "any";
    case capacity_kind::guaranteed:
      return "guaranteed";
  }
  return "";
}

/// Another specification of a quota that keeps its name and parent: see `ledger::exchange`.
template <std::size_t N>
struct respecified_quota {
  /// The quota of the tree.
  quota_id quota;
  /// What it is from then on; after an exchange, what it was before.
  quota_spec<N> spec;
};

/// Tracks how much every quota uses, and hence how much more each may use.
///
/// Per quota x and dimension: own pool E, lend limit L, borrow limit B, usage u of the jobs attached to x
/// itself, and the balance T(x) = E(x) - u(x) + sum over children of min(L(c), T(c)).
/// **The law**: a state is sound when T(root) >= 0 and T(x) >= -B(x) for every other x; a request is
/// admissible when every quota on its path to the root is sound with the request added. (Kueue's KEP-79,
/// extended to jobs on inner quotas and to inclusive parents.)
///
/// The state is kept incrementally: a quota's `used` is what it draws on its supply S, that is, its own usage
/// plus the part of each child's usage that exceeds what the child keeps for itself. So T = S - used, a
/// change touches only the path to the root, and an unlimited nominal costs no exactness.
///
/// Charge, release, headroom and rollback are O(depth) and do not allocate (except when the journal grows).
/// The ledger records what the host reports: it does not refuse a charge beyond the headroom, and a state
/// over its limits after a resize stays exact while usage comes down.
///
/// Queries take any id and any dimension: for a quota that the tree does not contain (none, removed, of
/// another tree), or a dimension >= N, every amount is zero, nothing fits, nothing is visited, and the law
/// holds. Commands are unchecked: the quota must exist, and a savepoint must be the ledger's own
/// (`ALLOT_ASSERT`).
template <std::size_t N = 1>
class ledger {
 public:
  explicit ledger(quota_tree<N> tree) : tree_(std::move(tree)) { rebuild(); }

  /// The quotas and their numbers.
  [[nodiscard]] const quota_tree<N>& tree() const noexcept { return tree_; }

  /// The most that x may use in addition; negative when a quota on its path is over its limit.
  /// In an unsound state, a deficit above x counts against what x keeps for itself, as in Kueue's
  /// available().
  [[nodiscard]] resources<N> headroom(quota_id x, capacity_kind kind = capacity_kind::any) const {
    if (!is_known(x)) return {};
    return kind == capacity_kind::guaranteed ? headroom_of<true>(x) : headroom_of<false>(x);
  }
  /// The same in one dimension.
  [[nodiscard]] quantity headroom(quota_id x, std::size_t d, capacity_kind kind = capacity_kind::any) const {
    quantity most = quantity::unlimited();
    bool is_there = false;
    for_each_bound(x, d, kind, [&](quota_id, quantity room, bool) {
      most = std::min(most, room);
      is_there = true;
    });
    return is_there ? most : quantity{};
  }

  /// Whether the request is admissible. A dimension that is not requested does not matter, even when it is
  /// over its limit (Kueue #2524). A negative or unlimited request never fits, nor does one that makes the
  /// usage of an unlimited quota uncountable. In a nonexistent quota not even an empty request fits.
  [[nodiscard]] bool fits(quota_id x, const resources<N>& request,
                          capacity_kind kind = capacity_kind::any) const {
    if (!is_known(x) || !is_valid_request(request)) return false;
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] > quantity{} && !fits_at(&cell_of(x, d), d, request[d], kind)) return false;
    }
    return true;
  }
  /// Whether all usage stays countable after a charge of `request` to x: the law does not ensure this where
  /// the supply is unlimited or the charge is only tentative. O(depth).
  [[nodiscard]] bool can_count(quota_id x, const resources<N>& request) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] > quantity{} && request[d] > countable(x, d)) return false;
    }
    return is_known(x);
  }
  /// The most that can be charged to x with all usage still countable. O(depth).
  [[nodiscard]] quantity countable(quota_id x, std::size_t d) const {
    if (!is_known(x, d)) return {};
    quantity most = quantity::unlimited();
    quantity spared;
    for (quota_id a = x; a;) {
      const cell& c = cell_of(a, d);
      most = std::min(most, spared + (most_countable - c.now.used));
      spared += std::max(quantity{}, c.kept - c.now.used);
      a = c.parent;
    }
    return most;
  }

  /// Charges `request` to x for one of its jobs.
  /// Preconditions: x exists; the request is valid and can be counted.
  void charge(quota_id x, const resources<N>& request, capacity_kind kind = capacity_kind::any) {
    ALLOT_ASSERT(is_valid_request(request), "a charge is neither negative nor unlimited");
    change(x, request, 1, kind);
  }
  /// Reverses a charge. Precondition: x was charged at least that much of that kind.
  void release(quota_id x, const resources<N>& request, capacity_kind kind = capacity_kind::any) {
    ALLOT_ASSERT(is_valid_request(request), "a release is neither negative nor unlimited");
    ALLOT_ASSERT(all_at_most(request, charged_in(x, kind)), "more is released than was charged");
    change(x, request, -1, kind);
  }

  /// A what-if: x counts as if it drew `amount` less on its supply, while its own usage and what the quotas
  /// above it count stay as they are, so that their sums no longer agree. Holds until the savepoint is rolled
  /// back. Preconditions: x exists; a savepoint is open.
  void discount(quota_id x, const resources<N>& amount) {
    ALLOT_ASSERT(tree_.contains(x), "no such quota");
    ALLOT_ASSERT(journal_.recording(), "only a rollback makes the sums agree again");
    for (std::size_t d = 0; d < N; ++d) {
      if (amount[d] == quantity{}) continue;
      const std::size_t i = x.index() * N + d;
      note(i);
      bump(cells_[i].now.used, -amount[d].in_milli());
    }
  }

  /// T(x): what is left of the supply of x. If negative, what x borrows from outside its subtree.
  [[nodiscard]] quantity balance(quota_id x, std::size_t d) const {
    const cell& c = at(x, d);
    return c.supply - c.now.used;
  }
  /// How much more the law at x itself lets its subtree draw: T(x) + B(x), or T(x) at a root. For guaranteed
  /// capacity its second bound, see `for_each_bound`.
  [[nodiscard]] quantity room(quota_id x, std::size_t d, capacity_kind kind = capacity_kind::any) const {
    const cell& c = at(x, d);
    return kind == capacity_kind::guaranteed ? c.supply - c.now.used_guaranteed : ceiling_of(c) - c.now.used;
  }
  /// S(x): what can be used in the subtree without borrowing.
  [[nodiscard]] quantity total_supply(quota_id x, std::size_t d) const { return at(x, d).supply; }
  /// E(x), B(x), L(x) and the like.
  [[nodiscard]] const supply& supply_of(quota_id x, std::size_t d) const noexcept {
    static constexpr struct supply nothing {};
    return has_slot(x) && d < N ? supplies_[x.index()][d] : nothing;
  }
  /// The part of a further `q` at x that would reach its parent: what exceeds the rest of x's kept part.
  [[nodiscard]] quantity passed_up(quota_id x, std::size_t d, quantity q) const {
    const cell& c = at(x, d);
    return passed_on(c.now.used + q, c.kept) - passed_on(c.now.used, c.kept);
  }
  /// The usage of the jobs attached to x itself.
  [[nodiscard]] quantity own_usage(quota_id x, std::size_t d) const { return at(x, d).now.own; }
  /// The same in every dimension, of all jobs or of those on guaranteed capacity.
  [[nodiscard]] resources<N> own_usage(quota_id x, capacity_kind kind = capacity_kind::any) const {
    return collect(x, kind == capacity_kind::guaranteed ? &usage::own_guaranteed : &usage::own);
  }
  /// What x draws on its own supply: the usage of its jobs, and what its children draw beyond what they keep.
  [[nodiscard]] resources<N> drawn(quota_id x) const { return collect(x, &usage::used); }
  /// The same in one dimension.
  [[nodiscard]] quantity drawn(quota_id x, std::size_t d) const { return at(x, d).now.used; }
  /// The usage of all jobs in the subtree. O(subtree).
  [[nodiscard]] resources<N> total_usage(quota_id x) const {
    resources<N> sum = own_usage(x);
    for (const quota_id c : tree_.children(x)) sum += total_usage(c);
    return sum;
  }
  /// What x uses of other quotas' supply: max(0, -T(x)).
  [[nodiscard]] quantity borrowed(quota_id x, std::size_t d) const {
    const quantity t = balance(x, d);
    return t < quantity{} ? -t : quantity{};
  }
  /// The most that x could ever use, with all other quotas idle; of what is guaranteed, without borrowing.
  /// O(depth).
  [[nodiscard]] quantity potential(quota_id x, std::size_t d, capacity_kind kind = capacity_kind::any) const {
    if (!is_known(x, d)) return {};
    quantity most = quantity::unlimited();
    quantity kept{};
    for (quota_id a = x; a;) {
      const cell& c = cell_of(a, d);
      most = std::min(most, kept + (kind == capacity_kind::guaranteed ? c.supply : ceiling_of(c)));
      kept += c.kept;
      a = c.parent;
    }
    return most;
  }

  /// Whether x satisfies the law; for guaranteed capacity, whether the jobs on it alone do, with every borrow
  /// limit 0. True for a nonexistent quota.
  [[nodiscard]] bool is_sound(quota_id x, capacity_kind kind = capacity_kind::any) const {
    for (std::size_t d = 0; d < N; ++d) {
      const cell& c = at(x, d);
      if (kind == capacity_kind::guaranteed ? c.now.used_guaranteed > c.supply : c.now.used > c.ceiling)
        return false;
    }
    return true;
  }
  /// Whether every quota satisfies the law. O(n).
  [[nodiscard]] bool is_sound() const {
    const auto all = tree_.top_down();
    return detail::all_of(all.begin(), all.end(), [&](quota_id x) { return is_sound(x); });
  }

  /// Calls `visit(quota, room, of_all_jobs)` for each bound on x's path, from x to its root: at most `room`
  /// can be added at x before that quota violates the law. For guaranteed capacity each quota has a second
  /// bound, on the usage of guaranteed jobs alone, with `of_all_jobs` false.
  template <class Visit>
  void for_each_bound(quota_id x, std::size_t d, capacity_kind kind, Visit visit) const {
    if (!is_known(x, d)) return;
    quantity spared{};
    quantity spared_guaranteed{};
    quota_id a = x;
    do {
      const cell& c = cell_of(a, d);
      visit(a, spared + (ceiling_of(c) - c.now.used), true);
      spared += std::max(quantity{}, c.kept - c.now.used);
      if (kind == capacity_kind::guaranteed) {
        visit(a, spared_guaranteed + (c.supply - c.now.used_guaranteed), false);
        spared_guaranteed += std::max(quantity{}, c.kept - c.now.used_guaranteed);
      }
      a = c.parent;
    } while (a);
  }

  /// Opens a savepoint. It is closed by `rollback`, which restores the recorded state bit for bit, or by
  /// `commit`, which keeps the changes. The one opened last is closed first.
  [[nodiscard]] savepoint save() noexcept { return journal_.open(); }
  /// Undoes all changes since the savepoint. O(changes). Precondition: it is the innermost open one.
  void rollback(savepoint s) {
    journal_.rollback(s, [&](const entry& e) { cells_[e.cell].now = e.before; });
  }
  /// Keeps the changes since the savepoint. Precondition: it is the innermost open one.
  void commit(savepoint s) { journal_.commit(s); }
  /// Reserves memory so that `changes` charges or releases under savepoints do not allocate.
  void reserve(std::size_t changes) { journal_.reserve(changes * N * (max_depth_ + 1)); }

  /// Takes over what `from`, a ledger of the same tree, counts of x. The sums agree once this was done for
  /// all quotas of a tree. Preconditions: the trees are equal, x exists, and no savepoint is open. O(N).
  void copy_usage(const ledger& from, quota_id x) {
    ALLOT_ASSERT(tree_.contains(x) && cells_.size() == from.cells_.size(),
                 "the ledgers are of the same tree");
    ALLOT_ASSERT(!journal_.recording(), "a rollback would mix two ledgers");
    for (std::size_t i = x.index() * N; i < (x.index() + 1) * N; ++i) cells_[i].now = from.cells_[i].now;
  }

  /// Replaces the tree, keeping the usage of every remaining quota. Precondition: no savepoint is open, and a
  /// quota that `next` does not contain has no usage. O(n). (See `apply` in quota/change.hpp.)
  void replace_tree(quota_tree<N> next) {
    ALLOT_ASSERT(!journal_.recording(), "the tree can't change under an open savepoint");
    tree_ = std::move(next);
    rebuild();
  }
  /// Exchanges the specifications of these quotas with the given ones, keeping all usage; with the same
  /// argument once more all is as it was. Preconditions: each quota exists, is named once, and keeps its name
  /// and parent; before a savepoint that is open is closed, all is exchanged back. O(children of these quotas
  /// and of all above them), and a glance at each quota.
  void exchange(std::span<respecified_quota<N>> others) {
    vector<bool> is_stale(tree_.slots());
    for (respecified_quota<N>& other : others) {
      tree_.exchange(other.quota, other.spec);
      is_stale[other.quota.index()] = true;
    }
    const auto order = tree_.top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) {
      if (!is_stale[x->index()]) continue;
      derive(*x);
      if (const quota_id above = tree_.parent(*x)) is_stale[above.index()] = true;
    }
  }

  /// The same tree in the same state.
  friend bool operator==(const ledger& a, const ledger& b) {
    return a.cells_ == b.cells_ && a.tree_ == b.tree_;
  }

 private:
  static constexpr quantity most_countable = quantity::milli(quantity::unlimited().in_milli() - 1);

  struct usage {
    quantity own;
    quantity own_guaranteed;
    quantity used;
    quantity used_guaranteed;
    friend bool operator==(const usage&, const usage&) = default;
  };
  /// All that a decision reads of a quota in one dimension, in one cache line.
  struct alignas(64) cell {
    usage now;
    quantity kept;
    quantity supply;
    quantity ceiling;  // S + B; S at a root, which can't borrow; most_countable if unlimited
    quota_id parent;
    bool is_live;  // false in an empty slot, which is `of_none`
    friend bool operator==(const cell&, const cell&) = default;
  };
  struct entry {
    std::size_t cell;
    usage before;
  };

  [[nodiscard]] bool has_slot(quota_id x) const noexcept { return x.index() * N < last_; }
  [[nodiscard]] bool is_known(quota_id x, std::size_t d = 0) const noexcept {
    return has_slot(x) && d < N && cell_of(x, d).is_live;
  }
  /// Precondition: x has a slot, and `d` is below N.
  [[nodiscard]] const cell& cell_of(quota_id x, std::size_t d) const { return cells_[x.index() * N + d]; }
  /// The same for any id and dimension; an empty cell where there is none.
  [[nodiscard]] const cell& at(quota_id x, std::size_t d) const noexcept {
    return cells_[d < N ? std::min(x.index() * N + d, last_) : last_];
  }

  [[nodiscard]] resources<N> collect(quota_id x, quantity usage::*member) const {
    resources<N> result;
    for (std::size_t d = 0; d < N; ++d) result[d] = at(x, d).now.*member;
    return result;
  }

  /// The amount of that kind that can be released.
  [[nodiscard]] resources<N> charged_in(quota_id x, capacity_kind kind) const {
    return kind == capacity_kind::guaranteed ? own_usage(x, kind)
                                             : own_usage(x) - own_usage(x, capacity_kind::guaranteed);
  }
  /// The cell of a slot without a quota: it has no amounts and passes nothing on.
  [[nodiscard]] static cell of_none() noexcept {
    cell c{};
    c.kept = quantity::unlimited();
    return c;
  }
  [[nodiscard]] static quantity ceiling_of(const cell& c) {
    return c.ceiling == most_countable ? quantity::unlimited() : c.ceiling;
  }
  /// What a quota that uses `used` draws on its parent's supply.
  [[nodiscard]] static quantity passed_on(quantity used, quantity kept) {
    return std::max(quantity{}, used - kept);
  }

  /// All dimensions in one walk up, so that they do not wait for each other's memory.
  template <bool Guaranteed>
  [[nodiscard]] resources<N> headroom_of(quota_id x) const {
    resources<N> most{quantity::unlimited()};
    resources<N> spared;
    resources<N> spared_guaranteed;
    do {
      const cell* const cells = &cell_of(x, 0);
      for (std::size_t d = 0; d < N; ++d) {
        const cell& c = cells[d];
        most[d] = std::min(most[d], spared[d] + (ceiling_of(c) - c.now.used));
        spared[d] += std::max(quantity{}, c.kept - c.now.used);
        if constexpr (Guaranteed) {
          most[d] = std::min(most[d], spared_guaranteed[d] + (c.supply - c.now.used_guaranteed));
          spared_guaranteed[d] += std::max(quantity{}, c.kept - c.now.used_guaranteed);
        }
      }
      x = cells->parent;
    } while (x);
    return most;
  }

  /// Whether `q` more can be used at `at`. Of it, `spared` does not reach the quotas above.
  [[nodiscard]] bool fits_at(const cell* at, std::size_t d, quantity q, capacity_kind kind) const {
    quantity spared;
    quantity spared_guaranteed;
    for (;; at = &cell_of(at->parent, d)) {
      const usage& now = at->now;
      if (q > spared + (at->ceiling - now.used)) return false;
      spared += std::max(quantity{}, at->kept - now.used);
      if (kind == capacity_kind::guaranteed) {
        if (q > spared_guaranteed + (at->supply - now.used_guaranteed)) return false;
        spared_guaranteed += std::max(quantity{}, at->kept - now.used_guaranteed);
      }
      if (!at->parent) return true;
    }
  }

  void change(quota_id x, const resources<N>& request, std::int64_t sign, capacity_kind kind) {
    ALLOT_ASSERT(tree_.contains(x), "no such quota");
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] == quantity{}) continue;
      const std::size_t i = x.index() * N + d;
      if (kind == capacity_kind::guaranteed) {
        change<true>(i, d, request[d].in_milli() * sign);
      } else {
        change<false>(i, d, request[d].in_milli() * sign);
      }
    }
  }
  template <bool Guaranteed>
  void change(std::size_t i, std::size_t d, std::int64_t delta) {
    std::int64_t guaranteed = Guaranteed ? delta : 0;
    note(i);
    bump(cells_[i].now.own, delta);
    if constexpr (Guaranteed) bump(cells_[i].now.own_guaranteed, delta);
    for (;;) {
      cell& c = cells_[i];
      delta = draw(c.now.used, delta, c.kept);
      if constexpr (Guaranteed) guaranteed = draw(c.now.used_guaranteed, guaranteed, c.kept);
      // If nothing is passed on, no guaranteed part is either: it is at most the whole.
      if (!c.parent || delta == 0) return;
      i = c.parent.index() * N + d;
      note(i);
    }
  }
  /// Usage is bounded and never negative, so plain integers suffice.
  static void bump(quantity& amount, std::int64_t delta) {
    ALLOT_ASSERT((amount + quantity::milli(delta)).is_bounded(), "the sum of all usage stays bounded");
    amount = quantity::milli(amount.in_milli() + delta);
  }
  /// Adds `delta` to what is drawn on a supply; returns the part passed on to the parent.
  [[nodiscard]] static std::int64_t draw(quantity& used, std::int64_t delta, quantity kept) {
    const std::int64_t before = std::max<std::int64_t>(0, used.in_milli() - kept.in_milli());
    bump(used, delta);
    return std::max<std::int64_t>(0, used.in_milli() - kept.in_milli()) - before;
  }

  void note(std::size_t i) {
    if (journal_.recording()) journal_.record({i, cells_[i].now});
  }

  /// Derives everything from the specification and the quotas' own usage.
  void rebuild() {
    last_ = tree_.slots() * N;
    supplies_.assign(tree_.slots(), {});
    cells_.resize(last_ + 1);
    for (std::size_t i = 0; i <= last_; ++i) {
      if (i == last_ || !tree_.contains(quota_id{i / N})) cells_[i] = of_none();
    }
    max_depth_ = 0;
    const auto order = tree_.top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) {
      max_depth_ = std::max(max_depth_, tree_.depth(*x));
      derive(*x);
    }
  }
  /// Derives what the ledger has of x, after the quotas below it.
  void derive(quota_id x) {
    supplies_[x.index()] = allot::supply_of(tree_, x, supplies_);
    cell* const cells = &cells_[x.index() * N];
    for (std::size_t d = 0; d < N; ++d) {
      const struct supply& s = supplies_[x.index()][d];
      cell& c = cells[d];
      c.kept = s.kept;
      c.supply = s.total;
      c.ceiling = std::min(most_countable, tree_.parent(x) ? s.total + s.borrow : s.total);
      c.parent = tree_.parent(x);
      c.is_live = true;
      c.now.used = c.now.own;
      c.now.used_guaranteed = c.now.own_guaranteed;
    }
    for (const quota_id child : tree_.children(x)) {
      for (std::size_t d = 0; d < N; ++d) {
        const cell& below = cell_of(child, d);
        cells[d].now.used += passed_on(below.now.used, below.kept);
        cells[d].now.used_guaranteed += passed_on(below.now.used_guaranteed, below.kept);
      }
    }
  }

  quota_tree<N> tree_;
  vector<per_dimension<struct supply, N>> supplies_;
  /// The last cell is empty and belongs to no quota.
  vector<cell> cells_;
  std::size_t last_ = 0;  // the index of that cell
  std::size_t max_depth_ = 0;
  journal<entry> journal_;
};

}  // namespace v0
}  // namespace allot
