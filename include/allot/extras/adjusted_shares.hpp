// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/rounding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// A queue's claim in a flat fair share.
struct share_claim {
  /// What the queue wants in total, not only in addition to what it has.
  quantity wants;
  /// Above zero, in thousandths.
  std::int64_t weight = 1000;
};

/// Armada's three shares of one capacity, here as amounts.
struct adjusted_share {
  /// Weight over the sum of weights, whatever the demands; rounded down.
  quantity fair;
  /// At most what it wants; what some do not want goes to the others. In sum min(capacity, wanted).
  quantity capped;
  /// What it would get if it wanted everything and the others what they want: what it could still claim. At
  /// least `capped`; rounded down, so of n queues its `capped` would then be at most n / 2 thousandths more,
  /// or (n - 2) / 2 less: it also makes up for the rounding of the others.
  quantity uncapped;
};

/// Adjusted shares, exact where Armada stops after ten rounds or at 1 %. O(n log n) in total, including the
/// uncapped shares, each of which is another division; buffers are reused.
class adjusted_shares {
 public:
  /// Precondition: weights are above zero, and no amount is negative or unlimited.
  void update(quantity capacity, std::span<const share_claim> claims) {
    const std::int64_t all = capacity.in_milli();
    portions_.clear();
    wide weights = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      ALLOT_ASSERT(claims[i].weight > 0 && is_amount(claims[i].wants),
                   "weights must be above zero and demands bounded");
      const auto w = static_cast<wide>(claims[i].weight);
      weights += w;
      portions_.push_back({claims[i].wants.in_milli(), w, i});
    }
    webster{}(all, portions_);
    shares_.assign(claims.size(), {});
    for (const portion& p : portions_) {
      shares_[p.place].capped = quantity::milli(p.given);
      shares_[p.place].fair = part(all, p.weight, weights);
    }
    find_uncapped(all);
  }

  /// In the order of the claims.
  [[nodiscard]] std::span<const adjusted_share> shares() const noexcept { return shares_; }

 private:
  [[nodiscard]] static bool is_amount(quantity q) { return q.is_bounded() && q >= quantity{}; }
  [[nodiscard]] static quantity part(std::int64_t all, wide weight, wide weights) {
    return quantity::milli(static_cast<std::int64_t>(static_cast<wide>(all) * weight / weights));
  }

  void find_uncapped(std::int64_t all) {
    const water_level level = raise_level(all, portions_);
    // By the level at which they are full: what the portions up to k want, and the weight of those after.
    sums_.resize(portions_.size());
    wide after = 0;
    for (const portion& p : portions_) after += p.weight;
    std::int64_t wanted = 0;
    for (std::size_t k = 0; k < portions_.size(); ++k) {
      wanted = k < level.first ? wanted + portions_[k].room : wanted;
      after -= portions_[k].weight;
      sums_[k] = {wanted, after};
    }
    for (std::size_t i = 0; i < portions_.size(); ++i) {
      const portion& p = portions_[i];
      // A portion that is not full would not get more by wanting more.
      quantity most = i >= level.first ? part(level.left, p.weight, level.total) : quantity{};
      if (i < level.first) {
        // Wanting everything lowers the level for the others, so only the first few of the full portions stay
        // full: those up to k, where reaching k's own level takes no more than there is.
        const auto is_full = [&](std::size_t k) {
          const std::int64_t left = all - sums_[k].wanted + p.room;
          return left >= 0 && compare_fractions(static_cast<wide>(portions_[k].room), portions_[k].weight,
                                                static_cast<wide>(left), sums_[k].after + p.weight) <= 0;
        };
        std::size_t first = i;
        for (std::size_t last = level.first; last - first > 1;) {
          const std::size_t middle = first + (last - first) / 2;
          (is_full(middle) ? first : last) = middle;
        }
        most = part(all - sums_[first].wanted + p.room, p.weight, sums_[first].after + p.weight);
      }
      adjusted_share& s = shares_[p.place];
      s.uncapped = std::max(s.capped, most);
    }
  }

  struct sum {
    std::int64_t wanted;
    wide after;
  };
  vector<portion> portions_;
  vector<sum> sums_;
  vector<adjusted_share> shares_;
};

}  // namespace v0
}  // namespace allot
