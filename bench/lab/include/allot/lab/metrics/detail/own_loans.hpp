// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/loans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// What every quota's own jobs use of other quotas' pools, and others' jobs of its pool: the amounts of a
/// `loan_book` without the pairs, kept while usage changes.
///
/// Where all that a tree can lend is lent, a quota lends all that it has; where all that it lacks is lent, a
/// quota borrows all that it lacks. As long as that is so, only the quotas whose usage has changed are looked
/// at. Otherwise the whole tree is matched again, as every part may differ.
template <std::size_t N = 1>
class own_loans {
 public:
  /// In one dimension.
  struct amounts {
    quantity lent;
    quantity borrowed;

    friend bool operator==(const amounts&, const amounts&) = default;
  };

  /// Begins with a ledger, or with the same one after its tree has changed; to be followed by `settle`. O(n).
  void reset(const ledger<N>& l) {
    const quota_tree<N>& tree = l.tree();
    accounts_.assign(tree.slots(), {});
    root_of_.assign(tree.slots(), quota_id::none());
    trees_.clear();
    trees_.resize(tree.slots());
    changed_.clear();
    matcher_.reset(l);
    for (const quota_id x : tree.top_down()) {
      const quota_id above = tree.parent(x);
      const quota_id root = root_of_[x.index()] = above ? root_of_[above.index()] : x;
      for (std::size_t d = 0; d < N; ++d) note_form(l, x, d);
      trees_[root.index()].members.push_back(x);
      note(l, x);
    }
  }
  /// The usage of the quota's own jobs has changed; to be followed by `settle`.
  void note(const ledger<N>& l, quota_id x) {
    for (std::size_t d = 0; d < N; ++d) {
      account& a = accounts_[x.index()][d];
      one& t = trees_[root_of_[x.index()].index()].of[d];
      const quantity has = matcher::own_surplus(l, x, d);
      // A whole tree that leaves something idle at a limit is not added up.
      const quantity lends =
          l.tree().children(x).empty() && l.tree().parent(x) ? std::min(l.supply_of(x, d).lend, has) : has;
      t.surplus += lends - std::exchange(a.surplus, lends);
      const quantity lacks = matcher::own_deficit(l, x, d);
      t.deficit += lacks - std::exchange(a.deficit, lacks);
    }
    changed_.push_back(x);
  }
  /// Calls `visit(quota)` for every quota whose amounts may have changed; for one perhaps more than once.
  template <class Visit>
  void settle(const ledger<N>& l, const per_dimension<bool, N>& of, Visit visit) {
    for (std::size_t d = 0; d < N; ++d) {
      if (!of[d]) continue;
      for (const quota_id x : changed_) {
        one& t = trees_[root_of_[x.index()].index()].of[d];
        const form now = form_of(t);
        if (now == form::other || now != t.last) {
          if (!std::exchange(t.is_matched, true)) match(l, root_of_[x.index()], d, visit);
          continue;
        }
        const account& a = accounts_[x.index()][d];
        set(x, d, {now == form::none ? quantity{} : a.surplus, a.deficit}, visit);
      }
      for (const quota_id x : changed_) {
        one& t = trees_[root_of_[x.index()].index()].of[d];
        t.last = form_of(t);
        t.is_matched = false;
      }
    }
    changed_.clear();
  }

  /// As of the last `settle`.
  [[nodiscard]] const amounts& of(quota_id x, std::size_t d) const { return accounts_[x.index()][d].now; }

 private:
  using matcher = allot::detail::loan_matcher<N>;

  /// How the loans of a tree follow from what each quota has and lacks.
  enum class form : std::uint8_t {
    unknown,
    /// Nothing is lent.
    none,
    /// All that can be lent is lent, and all that is lacked.
    all,
    other,
  };
  struct account {
    quantity surplus;
    quantity deficit;
    amounts now;
  };
  struct one {
    /// The sums over all its quotas.
    quantity surplus;
    quantity deficit;
    form last = form::unknown;
    /// Sums and limits say what is lent.
    bool is_plain = true;
    bool is_matched = false;
  };
  struct tree_of {
    per_dimension<one, N> of{};
    /// Parents first.
    vector<quota_id> members{};
  };

  void note_form(const ledger<N>& l, quota_id x, std::size_t d) {
    const supply& s = l.supply_of(x, d);
    one& t = trees_[root_of_[x.index()].index()].of[d];
    const bool is_inside = l.tree().parent(x) && !l.tree().children(x).empty();
    if (s.own_pool.is_unlimited() || (is_inside && !s.lend.is_unlimited())) t.is_plain = false;
  }
  [[nodiscard]] static form form_of(const one& t) {
    if (!t.is_plain) return form::other;
    if (t.deficit == quantity{}) return form::none;
    return t.deficit == t.surplus ? form::all : form::other;
  }
  template <class Visit>
  void set(quota_id x, std::size_t d, const amounts& is, Visit visit) {
    if (std::exchange(accounts_[x.index()][d].now, is) != is) visit(x);
  }
  template <class Visit>
  void match(const ledger<N>& l, quota_id root, std::size_t d, Visit visit) {
    const vector<quota_id>& members = trees_[root.index()].members;
    for (const quota_id x : members) matched_of(x) = {};
    for (auto x = members.end(); x != members.begin();) {
      matcher_.match(l, *--x, d, [&](const auto& lenders, const auto& borrowers) {
        for (const auto& p : lenders) matched_of(p.quota).lent += p.amount;
        for (const auto& p : borrowers) matched_of(p.quota).borrowed += p.amount;
      });
    }
    for (const quota_id x : members) set(x, d, matched_of(x), visit);
  }
  [[nodiscard]] amounts& matched_of(quota_id x) {
    if (matched_.size() <= x.index()) matched_.resize(x.index() + 1);
    return matched_[x.index()];
  }

  vector<per_dimension<account, N>> accounts_;
  vector<quota_id> root_of_;
  /// By root.
  vector<tree_of> trees_;
  /// While a tree is matched.
  vector<amounts> matched_;
  vector<quota_id> changed_;
  matcher matcher_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
