// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/tree.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace allot {
inline namespace v0 {

/// The limit of a quota in KAI's terms: KAI's quota (deserved) is our nominal, its limit is nominal plus
/// borrow limit. Either may be unlimited.
template <std::size_t N>
[[nodiscard]] quantity limit_of(const quota_spec<N>& spec, std::size_t d) {
  return spec.is_static ? spec.nominal[d] : spec.nominal[d] + spec.borrow[d].of(spec.nominal[d]);
}

/// The least capacity to assume where it is unknown: what the roots deserve or, if that is more, what the
/// quotas below one deserve together. O(n).
template <std::size_t N>
[[nodiscard]] resources<N> least_capacity(const quota_tree<N>& tree) {
  const auto deserved = [&](const auto& self, quota_id x) -> resources<N> {
    resources<N> below;
    for (const quota_id c : tree.children(x)) below += self(self, c);
    for (std::size_t d = 0; d < N; ++d) below[d] = std::max(below[d], tree.spec(x).nominal[d]);
    return below;
  };
  resources<N> sum;
  for (const quota_id root : tree.roots()) sum += deserved(deserved, root);
  return sum;
}

/// The fair shares of KAI-Scheduler v0.13, exactly: what is divided, in which order, and how it is rounded.
///
/// Per dimension and group of siblings, from the top (where the whole capacity is divided) down, each inner
/// quota dividing its *fair share*:
/// 1. Every quota gets what it deserves, up to its request and limit. This is not scaled down: quotas that
///    add up to more than the capacity keep their shares.
/// 2. The rest is distributed by priority band, highest first, in rounds. In a round, each quota that
///    requests more is due a part by weight: its remaining request if that is less, else the part rounded
///    down to whole units. Rounds repeat while some quota took less than its part. Weight 0 gets nothing.
/// 3. What rounding left over is distributed by band again: one unit each, once, largest fraction first, then
///    the older quota.
///
/// With `k` above 0, parts go by max(0, w + k (w - u)), where w is the quota's weight as a fraction of its
/// siblings', u its recent usage as a fraction of the whole cluster (as in KAI; see trap 23).
///
/// Known properties, kept: rounding may let a lower band overtake a higher one, a share may exceed request
/// and limit by a fraction of a unit, and surplus may stay unassigned. `division` has none of these.
///
/// Exact: KAI divides in floating point, this in integers, so a whole part is never rounded down.
template <std::size_t N = 1>
class whole_unit_division {
 public:
  /// Usage is measured in parts of the cluster: `usage_scale` is all of it, all the time.
  static constexpr std::int64_t usage_scale = 1'000'000;

  /// What the division depends on besides the quotas.
  struct options {
    /// In thousandths; negative values count as 0.
    std::int64_t k = 0;
    /// The unit to which parts are rounded down, in milli: 1000 is a whole GPU.
    std::array<std::int64_t, N> unit = [] {
      std::array<std::int64_t, N> units{};
      units.fill(1000);
      return units;
    }();
  };

  /// `requested[i]` is what the running and pending jobs in the subtree of quota i request in total;
  /// `used_lately[i]` is in parts of `usage_scale`, empty for none. An unlimited capacity counts as what is
  /// requested. O(n rounds), plus O(n log n) for what is left over.
  void update(const quota_tree<N>& tree, const resources<N>& capacity,
              std::span<const resources<N>> requested,
              std::span<const per_dimension<std::int64_t, N>> used_lately = {}, const options& o = {}) {
    ALLOT_ASSERT(requested.size() == tree.slots(), "one request for each quota");
    shares_.assign(tree.slots(), resources<N>{});
    for (std::size_t d = 0; d < N; ++d) {
      const auto usage = [&](quota_id x) { return used_lately.empty() ? 0 : used_lately[x.index()][d]; };
      quantity total = capacity[d];
      if (total.is_unlimited()) {
        total = {};
        for (const quota_id r : tree.roots()) total += requested[r.index()][d];
      }
      divide(tree, tree.roots(), total, requested, d, o, usage);
      for (const quota_id x : tree.top_down()) {
        divide(tree, tree.children(x), shares_[x.index()][d], requested, d, o, usage);
      }
    }
  }

  /// The share of the jobs in the subtree of x.
  [[nodiscard]] const resources<N>& fair_share(quota_id x) const { return shares_[x.index()]; }

 private:
  struct party {
    quota_id quota;
    /// Its position among its siblings, oldest first.
    std::size_t place;
    std::int64_t weight;
    std::int64_t usage;
    std::int64_t request;
    /// The lesser of request and limit.
    std::int64_t wants;
    std::int64_t limit;
    std::int64_t given;
    wide part = 0;
    bool has_fraction = false;
    ratio fraction{};

    [[nodiscard]] bool is_satisfied() const { return request <= given || limit <= given; }
    [[nodiscard]] std::int64_t unmet() const { return std::max<std::int64_t>(0, wants - given); }
  };

  template <class Usage>
  void divide(const quota_tree<N>& tree, std::span<const quota_id> siblings, quantity total,
              std::span<const resources<N>> requested, std::size_t d, const options& o, Usage usage) {
    if (siblings.empty()) return;
    parties_.clear();
    std::int64_t left = total.in_milli();
    for (const quota_id x : siblings) {
      const quota_spec<N>& spec = tree.spec(x);
      const quantity request = requested[x.index()][d];
      const quantity limit = limit_of(spec, d);
      party p{x,
              parties_.size(),
              spec.weight[d].in_milli(),
              usage(x),
              request.in_milli(),
              std::min(request, limit).in_milli(),
              limit.in_milli(),
              0};
      p.given = std::min(p.wants, (spec.nominal[d].is_unlimited() ? total : spec.nominal[d]).in_milli());
      // Only whether anything is left matters; the total deserved may exceed what can be counted.
      if (left > 0) left -= p.given;
      parties_.push_back(p);
    }
    if (left > 0) share_rest(tree, left, d, o);
    for (const party& p : parties_) shares_[p.quota.index()][d] = quantity::milli(p.given);
  }

  /// Bands are ordered by priority, the quotas in each by age, oldest first.
  void share_rest(const quota_tree<N>& tree, std::int64_t left, std::size_t d, const options& o) {
    const auto priority = [&](const party& p) { return tree.spec(p.quota).priority; };
    detail::sort(parties_.begin(), parties_.end(), [&](const party& a, const party& b) {
      return priority(a) != priority(b) ? priority(a) > priority(b) : a.place < b.place;
    });
    for_each_band(priority, [&](std::span<party> band) { left = share_in_rounds(band, left, d, o); });
    for_each_band(priority, [&](std::span<party> band) {
      if (left > 0) left = hand_out(band, left, o.unit[d]);
    });
  }
  template <class Priority, class Visit>
  void for_each_band(Priority priority, Visit visit) {
    for (std::size_t first = 0; first < parties_.size();) {
      std::size_t last = first + 1;
      while (last < parties_.size() && priority(parties_[last]) == priority(parties_[first])) ++last;
      visit(std::span<party>{parties_}.subspan(first, last - first));
      first = last;
    }
  }

  /// Returns what is left over.
  [[nodiscard]] static std::int64_t share_in_rounds(std::span<party> band, std::int64_t left, std::size_t d,
                                                    const options& o) {
    for (bool again = true; again && left > 0;) {
      again = false;
      const wide sum = assign_parts(band, o.k);
      if (sum == 0) break;
      const auto amount = static_cast<wide>(left);
      for (party& p : band) {
        if (p.is_satisfied() || p.weight == 0) continue;
        const std::int64_t unmet = p.unmet();
        const wide due = amount * p.part;  // in units of 1/`sum` milli
        if (static_cast<wide>(unmet) * sum <= due) {
          again = again || (unmet > 0 && static_cast<wide>(unmet) * sum < due);
          p.given += unmet;
          left -= unmet;
          p.has_fraction = false;
          continue;
        }
        const auto unit = static_cast<wide>(o.unit[d]);
        const wide whole = due / (sum * unit) * unit;
        const wide rest = due - whole * sum;
        if (rest > 0) {
          p.has_fraction = true;
          p.fraction = ratio{rest, sum};
        }
        p.given += static_cast<std::int64_t>(whole);
        left -= static_cast<std::int64_t>(whole);
      }
    }
    return left;
  }

  /// Sets the integers by which the round is divided; returns their sum. For a quota with weight w, out of W
  /// in total, and usage u this is max(0, w/W + k (w/W - u)), scaled by W, the scale of u and that of k.
  [[nodiscard]] static wide assign_parts(std::span<party> band, std::int64_t k) {
    __extension__ using exact = __int128;
    // Common factors of the weights cancel; without them nothing overflows.
    std::int64_t common = 0;
    for (const party& p : band) common = std::gcd(common, p.weight);
    std::int64_t heaviest = 0;
    for (const party& p : band) heaviest = std::max(heaviest, p.weight / std::max<std::int64_t>(1, common));
    for (; heaviest > most_weight; heaviest /= 2) common *= 2;
    const auto weight = [&](const party& p) {
      return static_cast<exact>(p.weight / std::max<std::int64_t>(1, common));
    };
    exact total = 0;
    for (const party& p : band) {
      if (p.unmet() > 0) total += weight(p);
    }
    wide sum = 0;
    for (party& p : band) {
      p.part = 0;
      if (total == 0 || p.is_satisfied()) continue;
      exact part = weight(p);
      if (k > 0) part = part * usage_scale * 1000 + k * (part * usage_scale - p.usage * total);
      p.part = part > 0 ? static_cast<wide>(part) : 0;
      sum += p.part;
    }
    return sum;
  }

  /// One unit each, largest fraction first. Returns what is left over.
  [[nodiscard]] std::int64_t hand_out(std::span<party> band, std::int64_t left, std::int64_t unit) {
    queue_.clear();
    for (std::size_t i = 0; i < band.size(); ++i) {
      if (band[i].has_fraction) queue_.push_back(i);
    }
    detail::sort(queue_.begin(), queue_.end(), [&](std::size_t a, std::size_t b) {
      const auto larger = band[a].fraction <=> band[b].fraction;
      return larger != 0 ? larger > 0 : a < b;
    });
    for (const std::size_t i : queue_) {
      const std::int64_t extra = std::min(unit, left);
      band[i].given += extra;
      left -= extra;
      if (left == 0) break;
    }
    return left;
  }

  static constexpr std::int64_t most_weight = std::int64_t{1} << 30;

  vector<resources<N>> shares_;
  vector<party> parties_;
  vector<std::size_t> queue_;
};

}  // namespace v0
}  // namespace allot
