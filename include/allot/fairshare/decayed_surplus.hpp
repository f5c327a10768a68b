// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/surplus.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// How past usage affects the division of the surplus.
struct past_use_settings {
  /// How strongly, in thousandths; zero or less: not at all.
  std::int64_t k = 1000;
  /// Measures usage, like weights, by the siblings' instead of the whole cluster's. Otherwise past usage
  /// hardly matters in a department that is a tenth of the cluster (KAI, trap 23).
  bool of_siblings = false;
  /// When a claimant is full, recomputes the weights among the remaining ones (KAI). Without this they are
  /// computed once, and a larger surplus never reduces a grant.
  bool weigh_again = false;
};

/// Divides surplus by weight, less for heavy recent use (KAI's time-based fair share): in proportion to
/// max(0, w + k (w - u)), where w is the claimant's part of the weights of all that want more and u is
/// `claimant::past_use`. Claimants whose past usage leaves nothing of their part share, by weight, what the
/// others leave; then, equally, those of weight zero. (KAI gives both nothing, and the surplus idles.)
///
/// Exact in integers: u is in billionths and k in thousandths. (Parts are cut to 62 bits, which matters only
/// for weights of many millions.) All surplus that is wanted is granted, unless the rounding leaves
/// something. With Webster's a larger surplus never reduces a grant, unless the weights are recomputed. O(n
/// log n); recomputing adds O(n) for each of at most n rounds; buffers are reused.
template <class Rounding = webster>
class decayed_surplus {
 public:
  decayed_surplus() = default;
  explicit decayed_surplus(past_use_settings settings, quantity unit = quantity::milli(1))
      : settings_(settings), unit_(unit), rounding_(unit) {}

  void operator()(quantity surplus, std::span<claimant> claimants) {
    std::int64_t left = surplus.in_milli();
    while (settings_.weigh_again && round(left, claimants)) {
    }
    weigh(claimants);
    left = divide(left, claimants, [&](std::size_t i) { return parts_[i]; });
    if (left > 0) left = divide(left, claimants, [&](std::size_t i) { return weight(claimants[i]); });
    if (left > 0) divide(left, claimants, [](std::size_t) { return wide{1}; });
  }

 private:
  static constexpr std::int64_t whole_past = 1'000'000'000;

  [[nodiscard]] static wide weight(const claimant& c) {
    return static_cast<wide>(std::max<std::int64_t>(0, c.weight));
  }
  [[nodiscard]] static bool wants_more(const claimant& c) { return c.wants > c.granted; }

  /// Fills `parts_`: w + k (w - u), multiplied by all denominators.
  void weigh(std::span<const claimant> claimants) {
    wide weights = 0;
    wide uses = 0;
    for (const claimant& c : claimants) {
      if (settings_.of_siblings) uses += static_cast<wide>(c.past_use);
      if (wants_more(c)) weights += weight(c);
    }
    if (!settings_.of_siblings) uses = whole_past;
    const auto k = static_cast<wide>(std::max<std::int64_t>(0, settings_.k));
    parts_.clear();
    wide most = 0;
    for (const claimant& c : claimants) {
      // With weights below 2^53, k below 2^20 and past use below 2^40 this stays within 128 bits.
      const wide due = (1000 + k) * weight(c) * std::max<wide>(uses, 1);
      const wide used = k * static_cast<wide>(c.past_use) * weights;
      parts_.push_back(wants_more(c) && due > used ? due - used : 0);
      most = std::max(most, parts_.back());
    }
    for (; most >= wide{1} << 62; most /= 2) {
      for (wide& p : parts_) p /= 2;
    }
  }

  /// Of the claimants with a part of the surplus, those that want no more than that get all they want; the
  /// others get the whole units of it. Returns false, and grants nothing, if all want more.
  bool round(std::int64_t& left, std::span<claimant> claimants) {
    weigh(claimants);
    wide total = 0;
    for (const wide p : parts_) total += p;
    const auto pool = static_cast<wide>(left);
    const auto is_filled = [&](std::size_t i) {
      const auto room = static_cast<wide>((claimants[i].wants - claimants[i].granted).in_milli());
      return parts_[i] != 0 && compare_fractions(room * total, 1, pool * parts_[i], 1) <= 0;
    };
    bool any = false;
    for (std::size_t i = 0; i < claimants.size(); ++i) any = any || is_filled(i);
    if (!any) return false;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      if (parts_[i] == 0) continue;
      const auto exact = static_cast<std::int64_t>(pool * parts_[i] / total);
      const std::int64_t more = is_filled(i) ? (claimants[i].wants - claimants[i].granted).in_milli()
                                             : exact - exact % unit_.in_milli();
      claimants[i].granted += quantity::milli(more);
      left -= more;
    }
    return left > 0;
  }

  template <class By>
  std::int64_t divide(std::int64_t left, std::span<claimant> claimants, By by) {
    portions_.clear();
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      const claimant& c = claimants[i];
      const wide w = by(i);
      if (w == 0 || !wants_more(c)) continue;
      portions_.push_back({(c.wants - c.granted).in_milli(), w, i, c.since});
    }
    rounding_(left, portions_);
    bool all_full = true;
    for (const portion& p : portions_) {
      claimants[p.place].granted += quantity::milli(p.given);
      left -= p.given;
      all_full = all_full && p.is_full();
    }
    return all_full ? left : 0;
  }

  vector<wide> parts_;
  vector<portion> portions_;
  past_use_settings settings_;
  quantity unit_ = quantity::milli(1);
  Rounding rounding_;
};

}  // namespace v0
}  // namespace allot
