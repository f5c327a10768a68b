// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>

#include <array>
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

/// GPUs that support MIG, distinguished by the profiles that they offer.
enum class mig_model : std::uint8_t { a30_24gb, a100_40gb, a100_80gb, h100_80gb, h200_141gb, b200_180gb };

/// A profile of one model: its position in `mig_profiles(model)`. Larger ids are larger instances.
using mig_profile_id = id<struct mig_profile_tag>;

/// What an instance takes of a GPU, and where it may be placed. A GPU is a row of memory slices, of which an
/// instance takes a contiguous range; compute slices are only counted.
struct mig_profile {
  /// As nvidia-smi writes it, without "MIG".
  std::string_view name;
  /// The compute slices that an instance takes, of `compute_slices(model)`.
  std::uint32_t compute_slices = 0;
  /// The memory slices that an instance takes, of `memory_slices(model)`.
  std::uint32_t memory_slices = 0;
  /// Bit s: it may start at memory slice s. No two of these positions overlap.
  std::uint32_t starts = 0;
  /// The maximum number of instances per GPU.
  std::uint32_t most = 0;
  /// Has the media engines (JPEG, optical flow), which only one instance per GPU can have.
  bool media = false;

  /// The memory slices that it takes, as bits. Precondition: it may start there.
  [[nodiscard]] constexpr std::uint32_t slices_from(std::uint32_t start) const {
    ALLOT_ASSERT(may_start_at(start), "the profile can't start there");
    return ((1U << memory_slices) - 1U) << start;
  }
  /// Whether an instance may start at that memory slice.
  [[nodiscard]] constexpr bool may_start_at(std::uint32_t start) const noexcept {
    return start < 32 && (starts >> start & 1U) != 0;
  }
};

namespace detail {

inline constexpr std::size_t mig_models = 6;

/// The GPU with four slices, A30: NVIDIA MIG User Guide, "Supported MIG Profiles"; positions as listed by
/// `nvidia-smi mig -lgipp`, {starts}:memory slices.
inline constexpr std::array<mig_profile, 5> four_slices{{
    {"1g.6gb", 1, 1, 0b1111, 4, false},     // {0,1,2,3}:1
    {"1g.6gb+me", 1, 1, 0b1111, 1, true},   // {0,1,2,3}:1
    {"2g.12gb", 2, 2, 0b0101, 2, false},    // {0,2}:2
    {"2g.12gb+me", 2, 2, 0b0101, 1, true},  // {0,2}:2
    {"4g.24gb", 4, 4, 0b0001, 1, true},     // {0}:4
}};

/// The GPUs with seven compute and eight memory slices, from A100 to B200, differ only in the names of their
/// profiles. Same sources as above (they agree for A100-40GB, A100-80GB and H100-80GB; for H200 and B200 the
/// guide's tables have the same fractions and numbers of instances).
constexpr std::array<mig_profile, 7> seven_slices(const std::array<std::string_view, 7>& names) noexcept {
  return {{
      {names[0], 1, 1, 0b0111'1111, 7, false},  // {0,1,2,3,4,5,6}:1
      {names[1], 1, 1, 0b0111'1111, 1, true},   // {0,1,2,3,4,5,6}:1
      {names[2], 1, 2, 0b0101'0101, 4, false},  // {0,2,4,6}:2
      {names[3], 2, 2, 0b0001'0101, 3, false},  // {0,2,4}:2
      {names[4], 3, 4, 0b0001'0001, 2, false},  // {0,4}:4
      {names[5], 4, 4, 0b0000'0001, 1, false},  // {0}:4
      {names[6], 7, 8, 0b0000'0001, 1, true},   // {0}:8
  }};
}
inline constexpr auto a100_40gb_profiles =
    seven_slices({"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
/// For A100-80GB and H100-80GB.
inline constexpr auto any_80gb_profiles =
    seven_slices({"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"});
inline constexpr auto h200_profiles =
    seven_slices({"1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"});
inline constexpr auto b200_profiles =
    seven_slices({"1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"});

[[nodiscard]] constexpr char to_upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
[[nodiscard]] constexpr bool is_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (to_upper(c) >= 'A' && to_upper(c) <= 'Z');
}
/// Whether `word`, in capitals, is one of the words of a product name such as "NVIDIA A100-SXM4-80GB".
[[nodiscard]] constexpr bool has_word(std::string_view name, std::string_view word) noexcept {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is_alphanumeric(name[i - 1])) continue;
    std::size_t n = 0;
    while (n < word.size() && i + n < name.size() && to_upper(name[i + n]) == word[n]) ++n;
    if (n == word.size() && (i + n == name.size() || !is_alphanumeric(name[i + n]))) return true;
  }
  return false;
}

}  // namespace detail

/// The name of the model and its memory: "A100-40GB".
[[nodiscard]] constexpr std::string_view to_string(mig_model m) noexcept {
  constexpr std::array<std::string_view, detail::mig_models> names{"A30-24GB",  "A100-40GB",  "A100-80GB",
                                                                   "H100-80GB", "H200-141GB", "B200-180GB"};
  return names[static_cast<std::size_t>(m)];
}

/// From smallest to largest.
[[nodiscard]] constexpr std::span<const mig_profile> mig_profiles(mig_model m) noexcept {
  switch (m) {
    case mig_model::a30_24gb:
      return detail::four_slices;
    case mig_model::a100_40gb:
      return detail::a100_40gb_profiles;
    case mig_model::a100_80gb:
    case mig_model::h100_80gb:
      return detail::any_80gb_profiles;
    case mig_model::h200_141gb:
      return detail::h200_profiles;
    case mig_model::b200_180gb:
      return detail::b200_profiles;
  }
  return {};
}
/// Precondition: the model has it.
[[nodiscard]] constexpr const mig_profile& profile_of(mig_model m, mig_profile_id p) {
  ALLOT_ASSERT(p.index() < mig_profiles(m).size(), "not a profile of this model");
  return mig_profiles(m)[p.index()];
}

/// The number of memory slices of a GPU.
[[nodiscard]] constexpr std::uint32_t memory_slices(mig_model m) noexcept {
  return m == mig_model::a30_24gb ? 4 : 8;
}
/// The number of compute slices of a GPU.
[[nodiscard]] constexpr std::uint32_t compute_slices(mig_model m) noexcept {
  return m == mig_model::a30_24gb ? 4 : 7;
}

/// The model of a product name such as "A100-SXM4-40GB" or "NVIDIA H100 80GB HBM3"; nothing if that GPU has
/// no MIG, is not one of the models above, or is ambiguous: "A100" alone needs `memory_mib`.
[[nodiscard]] constexpr std::optional<mig_model> find_mig_model(std::string_view product,
                                                                std::int64_t memory_mib = 0) noexcept {
  const auto has = [&](std::string_view word, std::int64_t gb) {
    // GPUs report up to a tenth less than their name says, and 80 GB are at most 81,920 MiB.
    return detail::has_word(product, word) || (memory_mib > gb * 900 && memory_mib <= gb * 1024);
  };
  if (detail::has_word(product, "A30")) return mig_model::a30_24gb;
  if (detail::has_word(product, "A100")) {
    if (has("40GB", 40)) return mig_model::a100_40gb;
    if (has("80GB", 80)) return mig_model::a100_80gb;
  }
  if (detail::has_word(product, "H100") && has("80GB", 80)) return mig_model::h100_80gb;
  if (detail::has_word(product, "H200")) return mig_model::h200_141gb;
  if (detail::has_word(product, "B200")) return mig_model::b200_180gb;
  return std::nullopt;
}

/// The profile with that name, as nvidia-smi writes it ("3g.20gb", "MIG 1g.10gb+me") or as in Kubernetes
/// resources ("mig-1g.10gb.me"). Nothing if the model does not offer it. O(profiles).
[[nodiscard]] constexpr std::optional<mig_profile_id> find_mig_profile(mig_model m,
                                                                       std::string_view name) noexcept {
  for (const std::string_view prefix : {std::string_view{"MIG "}, std::string_view{"mig-"}}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  const std::span<const mig_profile> offered = mig_profiles(m);
  for (std::size_t i = 0; i < offered.size(); ++i) {
    std::string_view wanted = name;
    std::string_view is = offered[i].name;
    if (is.ends_with("+me") && (wanted.ends_with(".me") || wanted.ends_with("+me"))) {
      wanted.remove_suffix(3);
      is.remove_suffix(3);
    }
    if (is == wanted) return mig_profile_id{i};
  }
  return std::nullopt;
}

/// All profiles of a model in one line, for users: "1g.5gb, 1g.5gb+me, ...".
[[nodiscard]] inline std::string list_mig_profiles(mig_model m) {
  std::string text;
  for (const mig_profile& p : mig_profiles(m)) {
    if (!text.empty()) text += ", ";
    text += p.name;
  }
  return text;
}

/// The profiles with these names, in this order; or, for each name that the model does not offer, a problem
/// that lists what it does offer.
[[nodiscard]] inline result<vector<mig_profile_id>> parse_mig_profiles(mig_model m,
                                                                       std::span<const std::string> names) {
  vector<mig_profile_id> profiles;
  vector<problem> found;
  for (const std::string& name : names) {
    if (const auto p = find_mig_profile(m, name)) {
      profiles.push_back(*p);
      continue;
    }
    std::string text{to_string(m)};
    text += " has no MIG profile ";
    text += name.empty() ? "without a name" : name;
    text += ": it offers ";
    text += list_mig_profiles(m);
    found.push_back({problem_code::unknown_name, name, "profile", std::move(text)});
  }
  if (!found.empty()) return found;
  return profiles;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
