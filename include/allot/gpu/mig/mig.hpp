// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/mig/mig_profile.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Why instances can't be created on a GPU.
enum class mig_obstacle : std::uint8_t {
  none,
  /// More of one profile than the model can have.
  too_many_of_a_profile,
  /// More than one with the media engines.
  media,
  compute_slices,
  memory_slices,
  /// Enough slices are left, but not where these profiles may be placed.
  placement,
};

/// For programs.
[[nodiscard]] constexpr std::string_view to_string(mig_obstacle o) noexcept {
  constexpr std::array<std::string_view, 6> names{"none",           "too_many_of_a_profile", "media",
                                                  "compute_slices", "memory_slices",         "placement"};
  return names[static_cast<std::size_t>(o)];
}

/// Why instances can't be created, with the supporting numbers: how many were requested in addition to the
/// existing ones, and how many are left. Of instances, media engines or slices; 0 of 0 for `placement`.
struct mig_refusal {
  /// What is lacking.
  mig_obstacle reason = mig_obstacle::none;
  /// Only with `too_many_of_a_profile`.
  mig_profile_id profile;
  /// How many were requested in addition to the existing ones.
  std::uint32_t asked = 0;
  /// How many are left.
  std::uint32_t left = 0;

  friend bool operator==(const mig_refusal&, const mig_refusal&) = default;
};

/// One GPU partitioned into MIG instances. A regular value of 16 bytes; nothing here allocates.
class mig_device {
 public:
  /// More instances than any GPU has.
  static constexpr std::size_t max_instances = 8;

  /// The start of each profile of a set, in the order of the set.
  struct arrangement {
    /// The memory slice at which each instance starts.
    std::array<std::uint8_t, max_instances> starts{};
    /// The number of instances.
    std::size_t count = 0;

    friend bool operator==(const arrangement&, const arrangement&) = default;
  };

  explicit constexpr mig_device(mig_model m) noexcept : model_(m) {}

  /// The model of the GPU.
  [[nodiscard]] constexpr mig_model model() const noexcept { return model_; }
  /// Bit s: memory slice s is taken.
  [[nodiscard]] constexpr std::uint32_t used_memory() const noexcept { return memory_; }
  /// Whether there is no instance.
  [[nodiscard]] constexpr bool is_empty() const noexcept { return memory_ == 0; }
  /// The profile of the instance that starts at this memory slice, or none.
  [[nodiscard]] constexpr mig_profile_id starting_at(std::uint32_t start) const noexcept {
    if (start >= max_instances || at_[start] == 0) return {};
    return mig_profile_id{at_[start] - std::size_t{1}};
  }
  /// The number of instances of a profile. O(8).
  [[nodiscard]] constexpr std::uint32_t count(mig_profile_id p) const noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t s = 0; s < max_instances; ++s) n += starting_at(s) == p ? 1U : 0U;
    return n;
  }

  /// Whether an instance could be created there.
  [[nodiscard]] constexpr bool fits_at(mig_profile_id p, std::uint32_t start) const {
    const mig_profile& wanted = profile_of(model_, p);
    return wanted.may_start_at(start) && (wanted.slices_from(start) & used_memory()) == 0 &&
           allows(wanted, p);
  }
  /// How many more instances of this profile could be created now, if no others are: the positions of one
  /// profile do not overlap. O(8).
  [[nodiscard]] constexpr std::uint32_t room(mig_profile_id p) const {
    const mig_profile& wanted = profile_of(model_, p);
    if (!allows(wanted, p)) return 0;
    const std::uint32_t compute = (compute_slices(model_) - compute_) / wanted.compute_slices;
    return std::min({places_left(wanted, memory_), compute, wanted.most - count(p)});
  }

  /// Where an instance would be created: the start that leaves the most positions for the largest profile,
  /// then for the next smaller one, and so on; the lowest of several. (Profiles are compared from the end of
  /// `mig_profiles`.) Nothing if it does not fit. O(profiles * 8^2).
  [[nodiscard]] constexpr std::optional<std::uint32_t> choose(mig_profile_id p) const {
    const mig_profile& wanted = profile_of(model_, p);
    std::optional<std::uint32_t> best;
    for (std::uint32_t s = 0; s < memory_slices(model_); ++s) {
      if (!fits_at(p, s)) continue;
      if (!best || leaves_more(wanted.slices_from(s), wanted.slices_from(*best))) best = s;
    }
    return best;
  }
  /// Creates an instance where `choose` says and returns its start; nothing if it does not fit.
  [[nodiscard]] constexpr std::optional<std::uint32_t> place(mig_profile_id p) {
    const auto start = choose(p);
    if (start) place_at(p, *start);
    return start;
  }
  /// Precondition: it fits there.
  constexpr void place_at(mig_profile_id p, std::uint32_t start) {
    ALLOT_ASSERT(fits_at(p, start), "the instance does not fit there");
    const mig_profile& made = profile_of(model_, p);
    memory_ = static_cast<std::uint8_t>(memory_ | made.slices_from(start));
    compute_ = static_cast<std::uint8_t>(compute_ + made.compute_slices);
    media_ = media_ || made.media;
    at_[start] = static_cast<std::uint8_t>(p.index() + 1);
  }
  /// Precondition: an instance starts there.
  constexpr void remove(std::uint32_t start) {
    const mig_profile_id p = starting_at(start);
    ALLOT_ASSERT(!p.is_none(), "no instance starts there");
    const mig_profile& gone = profile_of(model_, p);
    memory_ = static_cast<std::uint8_t>(memory_ & ~gone.slices_from(start));
    compute_ = static_cast<std::uint8_t>(compute_ - gone.compute_slices);
    media_ = media_ && !gone.media;
    at_[start] = 0;
  }

  /// Where all these instances would be placed in addition to the existing ones (which are not moved), or
  /// nothing. Larger profiles are placed first, equal ones in order, each as low as the others allow. Exact:
  /// finds an arrangement if there is one. A few thousand steps at most, usually far fewer.
  [[nodiscard]] constexpr std::optional<arrangement> fits_beside(std::span<const mig_profile_id> set) const {
    if (set.size() > max_instances) return std::nullopt;
    ALLOT_ASSERT(
        allot::detail::all_of(set.begin(), set.end(),
                              [&](mig_profile_id p) { return p.index() < mig_profiles(model_).size(); }),
        "not a profile of this model");
    std::array<std::size_t, max_instances> order{};
    for (std::size_t i = 0; i < set.size(); ++i) {
      std::size_t k = i;
      for (; k > 0 && set[order[k - 1]] < set[i]; --k) order[k] = order[k - 1];
      order[k] = i;
    }
    arrangement found;
    found.count = set.size();
    if (!arrange(set, order, 0, found)) return std::nullopt;
    return found;
  }

  /// Why these do not fit in addition to the existing instances; `mig_obstacle::none` if they do. Reasons
  /// that no arrangement can avoid take precedence.
  [[nodiscard]] constexpr mig_refusal why_not(std::span<const mig_profile_id> set) const {
    std::uint32_t media = 0;
    std::uint32_t compute = 0;
    std::uint32_t memory = 0;
    for (const mig_profile_id p : set) {
      const mig_profile& wanted = profile_of(model_, p);
      const auto asked = static_cast<std::uint32_t>(std::count(set.begin(), set.end(), p));
      if (asked + count(p) > wanted.most) {
        return {mig_obstacle::too_many_of_a_profile, p, asked, wanted.most - count(p)};
      }
      media += wanted.media ? 1U : 0U;
      compute += wanted.compute_slices;
      memory += wanted.memory_slices;
    }
    const std::uint32_t compute_left = compute_slices(model_) - compute_;
    const auto memory_left = memory_slices(model_) - static_cast<std::uint32_t>(std::popcount(used_memory()));
    if (compute > compute_left) return {mig_obstacle::compute_slices, {}, compute, compute_left};
    if (memory > memory_left) return {mig_obstacle::memory_slices, {}, memory, memory_left};
    if (const std::uint32_t left = media_ ? 0U : 1U; media > left)
      return {mig_obstacle::media, {}, media, left};
    if (!fits_beside(set)) return {mig_obstacle::placement, {}, 0, 0};
    return {};
  }

  friend constexpr bool operator==(const mig_device&, const mig_device&) noexcept = default;

 private:
  [[nodiscard]] constexpr bool allows(const mig_profile& wanted, mig_profile_id p) const noexcept {
    return compute_ + wanted.compute_slices <= compute_slices(model_) && count(p) < wanted.most &&
           !(wanted.media && media_);
  }
  [[nodiscard]] static constexpr std::uint32_t places_left(const mig_profile& p,
                                                           std::uint32_t used) noexcept {
    std::uint32_t places = 0;
    for (std::uint32_t left = p.starts; left != 0; left &= left - 1) {
      const auto start = static_cast<std::uint32_t>(std::countr_zero(left));
      if ((p.slices_from(start) & used) == 0) ++places;
    }
    return places;
  }
  [[nodiscard]] constexpr bool leaves_more(std::uint32_t a, std::uint32_t b) const noexcept {
    const std::span<const mig_profile> profiles = mig_profiles(model_);
    for (std::size_t i = profiles.size(); i-- > 0;) {
      const std::uint32_t with_a = places_left(profiles[i], memory_ | a);
      const std::uint32_t with_b = places_left(profiles[i], memory_ | b);
      if (with_a != with_b) return with_a > with_b;
    }
    return false;
  }
  [[nodiscard]] constexpr bool arrange(std::span<const mig_profile_id> set,
                                       const std::array<std::size_t, max_instances>& order, std::size_t next,
                                       arrangement& found) const {
    if (next == set.size()) return true;
    const std::size_t i = order[next];
    // Permutations of equal profiles are not tried.
    const bool again = next > 0 && set[order[next - 1]] == set[i];
    for (std::uint32_t s = again ? found.starts[order[next - 1]] + 1U : 0; s < memory_slices(model_); ++s) {
      if (!fits_at(set[i], s)) continue;
      mig_device with = *this;
      with.place_at(set[i], s);
      found.starts[i] = static_cast<std::uint8_t>(s);
      if (with.arrange(set, order, next + 1, found)) return true;
    }
    return false;
  }

  std::array<std::uint8_t, max_instances> at_{};
  mig_model model_;
  std::uint8_t memory_ = 0;
  std::uint8_t compute_ = 0;
  bool media_ = false;
};

/// The refusal as a sentence for users.
[[nodiscard]] inline std::string explain(mig_model m, const mig_refusal& why) {
  const auto slices = [&](const char* kind) {
    std::string text{"they take "};
    text += std::to_string(why.asked);
    text += kind;
    text += std::to_string(why.left);
    text += " left";
    return text;
  };
  switch (why.reason) {
    case mig_obstacle::none:
      return "they fit";
    case mig_obstacle::too_many_of_a_profile: {
      std::string text{"there is room for "};
      text += std::to_string(why.left);
      text += " more of ";
      text += profile_of(m, why.profile).name;
      text += ", not for ";
      text += std::to_string(why.asked);
      text += ": ";
      text += to_string(m);
      text += " has at most ";
      text += std::to_string(profile_of(m, why.profile).most);
      return text;
    }
    case mig_obstacle::media:
      return "only one instance of a GPU can have the media engines";
    case mig_obstacle::compute_slices:
      return slices(" compute slices, and there are ");
    case mig_obstacle::memory_slices:
      return slices(" memory slices, and there are ");
    case mig_obstacle::placement:
      return "there are slices enough, but not together at places where these profiles may start";
  }
  return "";
}

/// A GPU partitioned into these profiles (see `find_mig_profile`), or the problems: names that the model does
/// not offer, or a combination that it can't have.
[[nodiscard]] inline result<mig_device> build_mig_device(mig_model m, std::span<const std::string> names) {
  auto set = parse_mig_profiles(m, names);
  if (!set) return std::move(set).problems();
  mig_device made{m};
  const auto where = made.fits_beside(set.value());
  if (!where) {
    std::string all;
    for (const std::string& name : names) {
      if (!all.empty()) all += ", ";
      all += name;
    }
    std::string text{to_string(m)};
    text += " can't have ";
    text += all;
    text += " at once: ";
    text += explain(m, made.why_not(set.value()));
    return vector<problem>{{problem_code::out_of_range, std::move(all), "profile", std::move(text)}};
  }
  for (std::size_t i = 0; i < where->count; ++i) made.place_at(set.value()[i], where->starts[i]);
  return made;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
