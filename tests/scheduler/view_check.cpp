// SPDX-License-Identifier: BSL-1.0
// What is refused, and with which words: tests/compile_fail.
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/detail/view_check.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

// Not in an unnamed namespace: clang would warn about the archetype's unused members.
namespace view_check_archetypes {

using allot::no_placement;
using allot::detail::is_view;

struct least {
  using job = int;
  allot::quota_id quota(job) const { return {}; }
  allot::resources<> request(job) const { return {}; }
  int priority(job) const { return 0; }
};
static_assert(is_view<least, no_placement>());
static_assert(!allot::detail::has_pods<least> && !allot::detail::has_id<least>);

// A member is found whatever its kind.
struct function : least {
  void pods() {}
};
struct overloaded : least {
  bool pods(job) const { return true; }
  bool pods(const std::string&) { return true; }
};
struct not_of_an_object : least {
  static int pods(std::string name) { return static_cast<int>(name.size()); }
};
struct function_template : least {
  template <class T>
  void pods(T*) {}
};
struct data : least {
  int pods = 0;
};
struct type : least {
  struct pods {};
};
class not_public : public least {
  [[maybe_unused]] int pods = 0;
};
struct inherited : not_public {};
struct abstract : least {
  abstract() = default;
  abstract(const abstract&) = default;
  abstract& operator=(const abstract&) = default;
  virtual ~abstract() = default;
  virtual void pods() = 0;
};
struct last final : least {
  std::uint64_t pods(job) { return 0; }
};
template <class... Views>
constexpr bool all_have_pods = (allot::detail::has_pods<Views> && ...);
static_assert(all_have_pods<function, overloaded, not_of_an_object, function_template, data, type, not_public,
                            inherited, abstract, last>);
static_assert(!allot::detail::has_min_pods<overloaded> && !allot::detail::has_min_pods<last>);

/// What else the host keeps in it is the host's.
struct with_helpers : least {
  bool preemptible(job j) const { return !not_preemptible(j); }
  bool not_preemptible(job) const { return false; }
};
static_assert(is_view<with_helpers, no_placement>());

/// Without a placement the library does not read a demand.
struct with_demand : least {
  double pod_request(job) const { return 0; }
};
static_assert(is_view<with_demand, no_placement>());

struct on_gpus : least {
  allot::gpu::pod_request pod_request(job) const { return {}; }
};
static_assert(is_view<on_gpus, allot::gpu::inventory>());
static_assert(allot::detail::is_placement<allot::gpu::inventory>());
static_assert(allot::detail::is_placement<no_placement>());

}  // namespace view_check_archetypes

TEST_CASE("view_check: a view may have helpers of the host's own") {
  const view_check_archetypes::with_helpers view;
  CHECK(view.preemptible(1));
}
