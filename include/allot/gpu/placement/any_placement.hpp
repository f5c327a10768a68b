// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/dot_product.hpp>
#include <allot/gpu/placement/first_fit.hpp>
#include <allot/gpu/placement/fragmentation_gradient.hpp>
#include <allot/gpu/placement/gpu_clustering.hpp>
#include <allot/gpu/placement/gpu_packing.hpp>
#include <allot/gpu/placement/indexed_best_fit.hpp>
#include <allot/gpu/placement/lifetime_alignment.hpp>
#include <allot/gpu/placement/placement_name.hpp>
#include <allot/gpu/placement/random_fit.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/placement/vector_best_fit.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A placement policy chosen at run time, for hosts that read it from a configuration: one of the library's
/// by name, or the host's own. Best fit by default.
class any_placement {
 public:
  any_placement() = default;
  /// `typical` is used by `fgd`, `seed` by `random`.
  any_placement(placement_name name, const cluster& layout, const typical_pods& typical = {},
                std::uint64_t seed = 1)
      : policy_(make(name, layout, typical, seed)) {}
  /// A policy without a name here; each placement costs a virtual call.
  template <class Policy>
  requires(!std::same_as<Policy, any_placement> &&
           placement_policy<Policy>) explicit any_placement(Policy own)
      : policy_(std::in_place_type<erased>, std::move(own)) {}

  /// Which policy it is; none if it is the host's own.
  [[nodiscard]] std::optional<placement_name> name() const noexcept {
    if (std::holds_alternative<erased>(policy_)) return std::nullopt;
    return static_cast<placement_name>(policy_.index());
  }

  /// Whether it cares when pods are expected to end, so that an inventory records it.
  [[nodiscard]] bool uses_ends() const noexcept {
    return std::visit([](const auto& policy) { return uses_expected_ends(policy); }, policy_);
  }

  /// See `gpu::finds_all_room`: all of the library's do.
  [[nodiscard]] bool finds_all_room() const noexcept {
    const auto* const own = std::get_if<erased>(&policy_);
    return own == nullptr || own->finds_all_room();
  }

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    // The default policy, without std::visit.
    if (const auto* best = std::get_if<indexed_best_fit>(&policy_)) return (*best)(from, pod);
    return std::visit([&](const auto& policy) { return policy(from, pod); }, policy_);
  }

 private:
  /// A copyable policy of any type.
  class erased {
   public:
    template <class Policy>
    requires(!std::same_as<Policy, erased>) explicit erased(Policy own)
        : it_(std::make_unique<holder<Policy>>(std::move(own))) {}
    erased(const erased& o) : it_(o.it_->copy()) {}
    erased(erased&&) noexcept = default;
    erased& operator=(const erased& o) {
      it_ = o.it_->copy();
      return *this;
    }
    erased& operator=(erased&&) noexcept = default;
    ~erased() = default;

    [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
      return it_->choose(from, pod);
    }
    [[nodiscard]] bool uses_ends() const noexcept { return it_->uses_ends(); }
    [[nodiscard]] bool finds_all_room() const noexcept { return it_->finds_all_room(); }

   private:
    struct interface {
      interface() = default;
      interface(const interface&) = delete;
      interface& operator=(const interface&) = delete;
      virtual ~interface() = default;
      [[nodiscard]] virtual std::optional<pod_location> choose(const free_index& from,
                                                               const pod_shape& pod) const = 0;
      [[nodiscard]] virtual bool uses_ends() const noexcept = 0;
      [[nodiscard]] virtual bool finds_all_room() const noexcept = 0;
      [[nodiscard]] virtual std::unique_ptr<const interface> copy() const = 0;
    };
    template <class Policy>
    struct holder final : interface {
      explicit holder(Policy own) : policy(std::move(own)) {}
      [[nodiscard]] std::optional<pod_location> choose(const free_index& from,
                                                       const pod_shape& pod) const override {
        return policy(from, pod);
      }
      [[nodiscard]] bool uses_ends() const noexcept override { return uses_expected_ends(policy); }
      [[nodiscard]] bool finds_all_room() const noexcept override { return gpu::finds_all_room(policy); }
      [[nodiscard]] std::unique_ptr<const interface> copy() const override {
        return std::make_unique<holder>(policy);
      }
      Policy policy;
    };

    std::unique_ptr<const interface> it_;
  };

  /// In the order of `placement_name`.
  using choice =
      std::variant<indexed_best_fit, worst_fit, first_fit, random_fit, gpu_packing, gpu_clustering,
                   dot_product, vector_best_fit, fragmentation_gradient, lifetime_alignment, erased>;
  static_assert(std::variant_size_v<choice> == placement_names.size() + 1);

  [[nodiscard]] static choice make(placement_name name, const cluster& layout, const typical_pods& typical,
                                   std::uint64_t seed) {
    switch (name) {
      case placement_name::best:
        break;
      case placement_name::worst:
        return worst_fit{};
      case placement_name::first:
        return first_fit{};
      case placement_name::random:
        return random_fit{seed};
      case placement_name::packing:
        return gpu_packing{};
      case placement_name::clustering:
        return gpu_clustering{};
      case placement_name::dot:
        return dot_product{};
      case placement_name::vector_best:
        return vector_best_fit{};
      case placement_name::fgd:
        return fragmentation_gradient{gradient_score{layout, typical}};
      case placement_name::lifetime:
        return lifetime_alignment{};
    }
    return indexed_best_fit{};
  }

  choice policy_;
};

static_assert(placement_policy<any_placement>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
