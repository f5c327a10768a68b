// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/result.hpp>
#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/supply.hpp>
#include <allot/quota/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

namespace detail {

/// Collects the problems in the specifications of a tree, in the order of the quotas. They are added to those
/// that were found before.
template <std::size_t N>
class quota_checker {
 public:
  quota_checker(std::span<const quota_spec<N>> specs, const vector<bool>& removed, vector<problem>& found)
      : specs_(specs), removed_(removed), found_(found), before_(found_.size()) {}

  /// Checks all but the amounts, which are meaningful only in a valid tree. Returns whether it is one.
  [[nodiscard]] bool check_tree() {
    check_all_fields();
    check_structure();
    check_range();
    return found_.size() == before_;
  }
  /// The same where only amounts differ from those of a valid tree.
  [[nodiscard]] bool check_new_amounts() {
    check_all_fields();
    check_range();
    return found_.size() == before_;
  }
  /// Checks the amounts of a tree with the supplies that `supply_at(quota, dimension)` returns.
  template <class Supplies>
  static void check_amounts(const quota_tree<N>& tree, Supplies supply_at, vector<problem>& found) {
    for (const quota_id x : tree.top_down()) {
      const quota_spec<N>& s = tree.spec(x);
      for (std::size_t d = 0; d < N; ++d) {
        const supply& own = supply_at(x, d);
        if (s.inclusive && !s.overcommit && own.children_own > s.nominal[d]) {
          detail::add_problem(found, problem_code::exceeds_parent, s.name, "nominal",
                              {"the children of ", s.name, " are given ", to_string(own.children_own),
                               ", more than the ", to_string(s.nominal[d]), " it has"},
                              d);
        } else if (own.total + (tree.parent(x) ? own.borrow : quantity{}) < quantity{} ||
                   own.total == quantity::lowest()) {
          detail::add_problem(
              found, problem_code::keeps_more_than_it_has, s.name, "lend",
              {"the quotas below ", s.name, " keep more for themselves than the ", to_string(s.nominal[d]),
               " it has: the law could not hold there even if all were idle"},
              d);
        }
      }
    }
  }

 private:
  [[nodiscard]] bool is_removed(std::size_t i) const { return i < removed_.size() && removed_[i]; }

  void report(problem_code code, std::size_t i, std::string_view field,
              std::initializer_list<std::string_view> text, std::size_t dimension = problem::no_dimension) {
    detail::add_problem(found_, code, specs_[i].name, field, text, dimension);
  }

  void check_fields(std::size_t i) {
    const quota_spec<N>& s = specs_[i];
    if (s.name.empty()) report(problem_code::empty_name, i, "name", {"a quota needs a name"});
    for (std::size_t d = 0; d < N; ++d) {
      if (s.nominal[d] < quantity{}) {
        report(problem_code::negative, i, "nominal",
               {"nominal of ", s.name, " is ", to_string(s.nominal[d]), ": it can't be negative"}, d);
      }
      if (s.lend[d].is_negative()) {
        report(problem_code::negative, i, "lend", {"the lend limit of ", s.name, " can't be negative"}, d);
      }
      if (s.borrow[d].is_negative()) {
        report(problem_code::negative, i, "borrow", {"the borrow limit of ", s.name, " can't be negative"},
               d);
      }
      if (s.weight[d] < fair_weight::milli(0)) {
        report(problem_code::negative, i, "weight", {"the weight of ", s.name, " can't be negative"}, d);
      }
    }
  }

  void check_all_fields() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!is_removed(i)) check_fields(i);
    }
  }

  void check_structure() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!is_removed(i)) by_name_.push_back(i);
    }
    detail::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
      const int by_name = specs_[a].name.compare(specs_[b].name);
      return by_name != 0 ? by_name < 0 : a < b;
    });
    check_names();
    check_parents();
    check_cycles();
  }

  void check_names() {
    for (std::size_t k = 1; k < by_name_.size(); ++k) {
      if (specs_[by_name_[k]].name == specs_[by_name_[k - 1]].name && !specs_[by_name_[k]].name.empty()) {
        report(problem_code::duplicate_name, by_name_[k], "name",
               {"there is more than one quota named ", specs_[by_name_[k]].name});
      }
    }
  }

  [[nodiscard]] std::size_t parent_of(std::size_t i) const {
    const std::string& wanted = specs_[i].parent;
    if (wanted.empty()) return none;
    const auto at = detail::partition_point(by_name_.begin(), by_name_.end(),
                                            [&](std::size_t x) { return specs_[x].name < wanted; });
    return at != by_name_.end() && specs_[*at].name == wanted ? *at : none;
  }

  void check_parents() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (is_removed(i) || specs_[i].parent.empty() || parent_of(i) != none) continue;
      report(problem_code::unknown_parent, i, "parent",
             {specs_[i].name, " names the parent ", specs_[i].parent, ", which does not exist"});
    }
  }

  /// Reports each cycle once, starting from its oldest quota.
  void check_cycles() {
    vector<std::size_t> walk(specs_.size(), none);
    for (std::size_t start = 0; start < specs_.size(); ++start) {
      if (is_removed(start)) continue;
      std::size_t i = start;
      while (i != none && walk[i] == none) {
        walk[i] = start;
        i = parent_of(i);
      }
      if (i != none && walk[i] == start) report_cycle(i);
    }
  }

  void report_cycle(std::size_t on_cycle) {
    std::size_t oldest = on_cycle;
    for (std::size_t i = parent_of(on_cycle); i != on_cycle; i = parent_of(i)) oldest = std::min(oldest, i);
    std::string text = "the parents form a cycle: ";
    text += specs_[oldest].name;
    std::size_t i = oldest;
    do {
      i = parent_of(i);
      text += " -> ";
      text += specs_[i].name;
    } while (i != oldest);
    report(problem_code::cycle, oldest, "parent", {text});
  }

  /// Every sum of bounded nominals must be bounded, or saturation would turn a large tree into an unlimited
  /// one.
  void check_range() {
    resources<N> sum;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      for (std::size_t d = 0; d < N; ++d) {
        const quantity nominal = specs_[i].nominal[d];
        if (is_removed(i) || nominal <= quantity{} || nominal.is_unlimited()) continue;
        if ((sum[d] + nominal).is_unlimited()) {
          report(problem_code::out_of_range, i, "nominal",
                 {"with ", specs_[i].name, " the nominals add up to more than can be counted: use unlimited"},
                 d);
        } else {
          sum[d] += nominal;
        }
      }
    }
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::span<const quota_spec<N>> specs_;
  const vector<bool>& removed_;
  vector<std::size_t> by_name_;
  vector<problem>& found_;
  std::size_t before_;
};

/// The tree of these quotas, or every problem with it, in addition to the problems so far.
template <std::size_t N>
[[nodiscard]] result<quota_tree<N>> checked_tree(vector<quota_spec<N>> specs, vector<bool> removed,
                                                 vector<problem> problems) {
  if (!quota_checker<N>{specs, removed, problems}.check_tree()) return problems;
  quota_tree<N> tree{std::move(specs), std::move(removed)};
  const vector<per_dimension<supply, N>> supplies = supplies_of(tree);
  const auto supply_at = [&](quota_id x, std::size_t d) -> const supply& { return supplies[x.index()][d]; };
  quota_checker<N>::check_amounts(tree, supply_at, problems);
  if (!problems.empty()) return problems;
  return tree;
}

}  // namespace detail

/// The tree of these quotas, or every problem with them: empty or duplicate names, parents that do not exist,
/// every cycle with all its members, negative amounts, nominals whose sum can't be counted, children that are
/// given more than an inclusive parent has (unless it overcommits), and an overcommitted quota below which
/// more is kept than there is. The order of the specifications is the age of the quotas. O(n log n).
template <std::size_t N>
result<quota_tree<N>> build_quota_tree(std::vector<quota_spec<N>> specs) {
  return detail::checked_tree<N>(std::move(specs), {}, {});
}

}  // namespace v0
}  // namespace allot
