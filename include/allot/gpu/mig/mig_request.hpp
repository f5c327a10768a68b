// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/gpu/mig/mig_profile.hpp>
#include <allot/gpu/pod_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace gpu {

namespace detail {

inline constexpr std::array<mig_model, mig_models> all_mig_models{
    mig_model::a30_24gb,  mig_model::a100_40gb,  mig_model::a100_80gb,
    mig_model::h100_80gb, mig_model::h200_141gb, mig_model::b200_180gb};

/// Each profile name of any model, once; and for each model, which of its profiles that is.
struct mig_names {
  static constexpr std::size_t most = 40;
  static constexpr std::uint8_t no_profile = 255;

  std::array<std::string_view, most> names{};
  std::array<std::array<std::uint8_t, most>, mig_models> profile{};
  std::size_t count = 0;
};

[[nodiscard]] constexpr mig_names collect_mig_names() noexcept {
  mig_names all;
  for (auto& of_model : all.profile) {
    for (std::uint8_t& p : of_model) p = mig_names::no_profile;
  }
  for (std::size_t m = 0; m < mig_models; ++m) {
    const auto offered = mig_profiles(all_mig_models[m]);
    for (std::size_t p = 0; p < offered.size(); ++p) {
      std::size_t at = 0;
      while (at < all.count && all.names[at] != offered[p].name) ++at;
      if (at == all.count) all.names[all.count++] = offered[p].name;
      all.profile[m][at] = static_cast<std::uint8_t>(p);
    }
  }
  return all;
}
inline constexpr mig_names known_mig_names = collect_mig_names();

}  // namespace detail

/// The profile name of a request, independent of the model: "1g.10gb" is not the same profile on an A100 with
/// 40 GB as on one with 80 GB. Nothing if no model has it. O(profiles).
[[nodiscard]] constexpr std::optional<mig_request> find_mig_request(std::string_view name) noexcept {
  for (const mig_model m : detail::all_mig_models) {
    const auto p = find_mig_profile(m, name);
    if (!p) continue;
    for (std::size_t at = 0;; ++at) {
      if (detail::known_mig_names.names[at] == mig_profiles(m)[p->index()].name) return mig_request{at};
    }
  }
  return std::nullopt;
}

/// As nvidia-smi writes it. Precondition: `find_mig_request` returned it.
[[nodiscard]] constexpr std::string_view name_of(mig_request r) {
  ALLOT_ASSERT(r.index() < detail::known_mig_names.count, "no MIG profile");
  return detail::known_mig_names.names[r.index()];
}

/// The profile of a model with that name, or nothing if the model does not offer it. O(1).
[[nodiscard]] constexpr std::optional<mig_profile_id> profile_of(mig_model m, mig_request r) noexcept {
  if (r.index() >= detail::known_mig_names.count) return std::nullopt;
  const std::uint8_t p = detail::known_mig_names.profile[static_cast<std::size_t>(m)][r.index()];
  if (p == detail::mig_names::no_profile) return std::nullopt;
  return mig_profile_id{p};
}

/// The portion of a GPU that an instance takes, in milli: its share of the memory slices.
[[nodiscard]] constexpr std::uint32_t portion_of(mig_model m, mig_profile_id p) {
  return profile_of(m, p).memory_slices * (milli_per_gpu / memory_slices(m));
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
