// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A machine of a cluster, numbered in the order of its specification.
using node_id = id<struct node_tag>;

/// A group of nodes that are close to each other: a spine, a leaf, a rack, an NVLink domain. Coarser levels
/// have smaller ids, and within a level the domains of one parent are contiguous.
using domain_id = id<struct domain_tag>;

/// What an inventory has placed; the id becomes invalid when it is released.
using allocation_id = recycled_id<struct allocation_tag>;

/// The name of a MIG profile, independent of the model; none: no instance is requested. See
/// `find_mig_request`.
using mig_request = id<struct mig_request_tag>;

/// The milli of one GPU.
inline constexpr std::uint32_t milli_per_gpu = 1000;
/// The GPUs of a node are the bits of one word.
inline constexpr std::uint32_t max_gpus_per_node = 64;

/// A set of pools: bit p is the pool of index p. All pools, including those that do not exist yet.
inline constexpr std::uint64_t all_pools = ~std::uint64_t{0};
/// The same for GPU models: bit m is the model of index m in `cluster::models`.
inline constexpr std::uint64_t all_models = ~std::uint64_t{0};

/// No topology level.
inline constexpr std::uint8_t any_level = 255;

namespace detail {
/// The level, if there is one. Of two the greater is the finer, and none is the coarsest.
[[nodiscard]] constexpr std::optional<std::size_t> level_of(std::uint8_t l) noexcept {
  return l == any_level ? std::nullopt : std::optional<std::size_t>{l};
}
}  // namespace detail

/// The number of devices in a set. `std::popcount` is a call where the compiler may not count on the
/// machine's instruction for it.
[[nodiscard]] constexpr std::uint32_t count_devices(std::uint64_t devices) noexcept {
  devices -= devices >> 1U & 0x5555555555555555U;
  devices = (devices & 0x3333333333333333U) + (devices >> 2U & 0x3333333333333333U);
  devices = (devices + (devices >> 4U)) & 0x0F0F0F0F0F0F0F0FU;
  return static_cast<std::uint32_t>(devices * 0x0101010101010101U >> 56U);
}

/// How long pods are expected to run once they start.
struct run_estimate {
  /// In the unit of the host's clock; 0 or less, or `without_end`: it is not known.
  instant span = without_end;
  /// Whether they are to have ended before a node is closed of which that is known
  /// (`occupancy::expect_outages`). Then it decides on whether there is room.
  bool before_outages = false;

  /// Whether it says anything.
  [[nodiscard]] constexpr bool is_known() const noexcept { return span > 0 && span != without_end; }

  friend constexpr auto operator<=>(const run_estimate&, const run_estimate&) noexcept = default;
  friend constexpr bool operator==(const run_estimate&, const run_estimate&) noexcept = default;
};

struct pod_set;

/// The sets of a job whose pods differ: in the host's memory, which must outlive the job. Compared by what
/// the sets say.
class pod_set_list {
 public:
  /// None: all pods of the job are alike.
  constexpr pod_set_list() noexcept = default;
  /// So many, from this one on.
  constexpr pod_set_list(const pod_set* first, std::uint32_t count) noexcept : first_(first), count_(count) {}

  /// Whether there is none.
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  /// How many.
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return count_; }
  /// @{
  /// For a range-based `for`.
  [[nodiscard]] constexpr const pod_set* begin() const noexcept { return first_; }
  [[nodiscard]] constexpr const pod_set* end() const noexcept;
  /// @}
  /// Precondition: there are more.
  [[nodiscard]] constexpr const pod_set& operator[](std::size_t set) const noexcept;
  /// How so many pods are divided among them: see `pods_of_sets`.
  [[nodiscard]] constexpr pods_by_set divide(std::uint64_t pods) const noexcept;
  /// Which of them has the next pod if they have so many: see `next_to_grow`.
  [[nodiscard]] constexpr std::size_t next_after(const pods_by_set& has) const noexcept;

  friend constexpr std::strong_ordering operator<=>(const pod_set_list& a, const pod_set_list& b) noexcept;
  friend constexpr bool operator==(const pod_set_list& a, const pod_set_list& b) noexcept;

 private:
  const pod_set* first_ = nullptr;
  std::uint32_t count_ = 0;
};

/// The pools where pods may run, by the option that was chosen among the flavors of their set: in the host's
/// memory, which must outlive the job. Compared by what it says.
class pools_by_option {
 public:
  /// None: the choice does not matter.
  constexpr pools_by_option() noexcept = default;
  /// So many, from this one on.
  constexpr pools_by_option(const std::uint64_t* first, std::uint32_t count) noexcept
      : first_(first), count_(count) {}

  /// How many options there are.
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return count_; }
  /// Those of an option; all if there is no such option.
  [[nodiscard]] constexpr std::uint64_t of(std::uint8_t option) const noexcept {
    return option < count_ ? first_[option] : all_pools;
  }

  friend constexpr std::strong_ordering operator<=>(const pools_by_option& a,
                                                    const pools_by_option& b) noexcept {
    if (a.count_ != b.count_) return a.count_ <=> b.count_;
    for (std::uint32_t i = 0; i < a.count_; ++i) {
      if (a.first_[i] != b.first_[i]) return a.first_[i] <=> b.first_[i];
    }
    return std::strong_ordering::equal;
  }
  friend constexpr bool operator==(const pools_by_option& a, const pools_by_option& b) noexcept {
    return (a <=> b) == 0;
  }

 private:
  const std::uint64_t* first_ = nullptr;
  std::uint32_t count_ = 0;
};

/// No set in particular.
inline constexpr std::uint8_t every_set = 255;

/// What a job requests from the cluster. Requests with equal `room_key`s have the same chances, so a host may
/// remember that one of them did not fit.
struct pod_request {
  /// Of each pod (of the whole job, if `total`): whole GPUs; or less than one, a fraction of one device (of
  /// each of `devices`); or none, for a pod that only needs a node.
  quantity gpus{};
  /// How many pods are placed, all or none.
  std::uint32_t pods = 1;
  /// `gpus` is for the whole job, which runs on as few nodes as its size needs (see `split`). `pods` is then
  /// ignored, and `cpu_milli` and `memory_mib` are for the whole job too.
  bool total = false;
  /// The acceptable pools.
  std::uint64_t pools = all_pools;
  /// The acceptable GPU models.
  std::uint64_t models = all_models;
  /// CPU and host memory of each pod. Not counted on nodes that do not specify their own.
  std::int64_t cpu_milli = 0;
  /// Host memory of each pod.
  std::int64_t memory_mib = 0;
  /// Not 0: instead of `gpus`, which is then 0, this much memory of each of `devices` GPUs. What portion of a
  /// device that is depends on its model (see `portion_of_memory`).
  std::int64_t gpu_memory_mib = 0;
  /// For a fraction: on how many devices of one node each pod has it (KAI's multi-device fractions).
  std::uint32_t devices = 1;
  /// Instead of `gpus`, which is then 0: each pod needs a MIG instance of this profile.
  mig_request mig{};
  /// All pods in one domain of this level of the inventory's topology, or not at all; if possible in one of
  /// the preferred level, else of the next coarser one with room. `any_level`: no constraint.
  std::uint8_t required_level = any_level;
  /// If possible in one domain of this level, else of the next coarser one with room. `any_level`: no
  /// preference.
  std::uint8_t preferred_level = any_level;
  /// Of pods in `sets` one of that set: what an elastic job may have beyond its minimum.
  std::uint8_t one_of = every_set;
  /// Whose its pods are: a number of the host's, for placement policies that care (`preferred_pools`). It
  /// makes no difference to whether there is room.
  std::uint32_t owner = 0;
  /// The options that were chosen of the flavors of its sets, by group: see `pod_set::pools`.
  std::array<std::uint8_t, 8> options{};
  /// How long its pods are expected to run, for placement policies that care (`lifetime_alignment`), and for
  /// `before_outages`. Otherwise it makes no difference to whether there is room: see `room_key`.
  run_estimate estimate{};
  /// The pods in sets, if they differ: then what is above is each set's own, but for `pods`, all of them
  /// together (fewer than their minimums: the first, set by set), and the levels, which are those of the
  /// whole job.
  pod_set_list sets{};
  /// Where the other pods of its job are, for such a pod: levels that are required bind it to them.
  allocation_id near{};

  class referents;

  /// What of it decides whether there is room: all but the owner, and but the estimate, unless that is one
  /// `before_outages`.
  [[nodiscard]] constexpr pod_request room_key() const noexcept {
    pod_request key = *this;
    key.owner = 0;
    if (!estimate.before_outages) key.estimate = {};
    return key;
  }
  /// Whether it has either constraint.
  [[nodiscard]] constexpr bool has_level() const noexcept {
    return required_level != any_level || preferred_level != any_level;
  }
  /// Whether its pods are alike and may be anywhere.
  [[nodiscard]] constexpr bool is_plain() const noexcept { return !has_level() && sets.empty(); }
  /// Whether pods that run by the one are what the other asks for: all is the same, but for the owner, the
  /// estimate, and how many pods its sets may have beyond these.
  [[nodiscard]] constexpr bool runs_as(const pod_request& other) const noexcept;
  /// Whether its pods, alike or not, may be anywhere.
  [[nodiscard]] constexpr bool may_be_anywhere() const noexcept;
  /// The same of a pod whose job has that place.
  [[nodiscard]] constexpr pod_request beside(allocation_id place) const noexcept;
  /// Whether it requests parts of devices: fractions, memory, or a MIG instance.
  [[nodiscard]] constexpr bool takes_parts() const noexcept {
    return gpu_memory_mib > 0 || !mig.is_none() ||
           (gpus > quantity{} && gpus < quantity::milli(milli_per_gpu));
  }

  friend constexpr auto operator<=>(const pod_request&, const pod_request&) noexcept = default;
  friend constexpr bool operator==(const pod_request&, const pod_request&) noexcept = default;
};

/// Pods of a job that are alike, beside others that differ.
struct pod_set {
  /// What each needs (`pods`, `total`, the owner and the estimate are those of the job). Levels are for the
  /// pods of this set, in the domain of the whole job.
  pod_request each{};
  /// How many there are.
  std::uint32_t pods = 1;
  /// How many of them the job can't do without; 0: all.
  std::uint32_t min_pods = 0;
  /// Not 0: so many pods each are in one domain of `slice_level`. The last slice may be smaller.
  std::uint32_t slice = 0;
  /// @{
  /// The level of slices, and that of `most_together`.
  std::uint8_t slice_level = any_level;
  std::uint8_t spread_level = any_level;
  /// @}
  /// Not 0: at most so many pods in one domain of `spread_level`.
  std::uint32_t most_together = 0;
  /// @{
  /// The pools of its pods by the option that was chosen in this group of the job's flavors.
  pools_by_option pools{};
  std::uint8_t group = 0;
  /// @}

  /// How many of them the job can't do without.
  [[nodiscard]] constexpr std::uint32_t fewest() const noexcept {
    return min_pods == 0 || min_pods > pods ? pods : min_pods;
  }
  /// Whether it matters where its pods are.
  [[nodiscard]] constexpr bool has_level() const noexcept {
    return each.has_level() || slice != 0 || most_together != 0;
  }

  /// The request of so many of its pods, of a job with that request.
  [[nodiscard]] constexpr pod_request of(std::uint32_t how_many, const pod_request& job) const noexcept {
    pod_request r = each;
    r.pods = how_many;
    r.total = false;
    r.estimate = job.estimate;
    r.owner = job.owner;
    if (group < job.options.size()) r.pools &= pools.of(job.options[group]);
    return r;
  }

  friend constexpr auto operator<=>(const pod_set&, const pod_set&) noexcept = default;
  friend constexpr bool operator==(const pod_set&, const pod_set&) noexcept = default;
};

constexpr const pod_set* pod_set_list::end() const noexcept {
  return first_ + count_;
}
constexpr const pod_set& pod_set_list::operator[](std::size_t set) const noexcept {
  return first_[set];
}
constexpr std::strong_ordering operator<=>(const pod_set_list& a, const pod_set_list& b) noexcept {
  if (a.count_ != b.count_) return a.count_ <=> b.count_;
  for (std::uint32_t s = 0; a.first_ != b.first_ && s < a.count_; ++s) {
    if (const auto order = a[s] <=> b[s]; order != 0) return order;
  }
  return std::strong_ordering::equal;
}
constexpr bool operator==(const pod_set_list& a, const pod_set_list& b) noexcept {
  return (a <=> b) == 0;
}

constexpr pods_by_set pod_set_list::divide(std::uint64_t pods) const noexcept {
  return pods_of_sets(
      count_, [this](std::size_t s) { return first_[s].fewest(); },
      [this](std::size_t s) { return first_[s].pods; }, pods);
}
constexpr std::size_t pod_set_list::next_after(const pods_by_set& has) const noexcept {
  return next_to_grow(
      count_, [this](std::size_t s) { return first_[s].fewest(); },
      [this](std::size_t s) { return first_[s].pods; }, has);
}
constexpr bool pod_request::runs_as(const pod_request& other) const noexcept {
  pod_request key = *this;
  key.sets = other.sets;
  key.estimate = other.estimate;
  key.owner = other.owner;
  if (sets.size() != other.sets.size() || key != other) return false;
  if (one_of == every_set && sets.divide(pods) != other.sets.divide(pods)) return false;
  for (std::uint32_t s = 0; s < sets.size(); ++s) {
    pod_set set = sets[s];
    set.pods = other.sets[s].pods;
    set.min_pods = other.sets[s].min_pods;
    if (set != other.sets[s]) return false;
  }
  return true;
}
constexpr bool pod_request::may_be_anywhere() const noexcept {
  if (has_level()) return false;
  for (const pod_set& s : sets) {
    if (s.has_level()) return false;
  }
  return true;
}
constexpr pod_request pod_request::beside(allocation_id place) const noexcept {
  pod_request r = *this;
  if (!may_be_anywhere()) r.near = place;
  return r;
}

/// A copy of what a request refers to in the host's memory, for who remembers requests of jobs that may be
/// gone.
class pod_request::referents {
 public:
  referents() = default;
  referents(referents&&) noexcept = default;
  referents& operator=(referents&&) noexcept = default;

  /// Copies that of the request, which refers to the copy from now on.
  void keep(pod_request& r) {
    if (r.sets.empty()) return;
    sets_.assign(r.sets.begin(), r.sets.end());
    pools_.clear();
    for (const pod_set& s : sets_) pools_.resize(pools_.size() + s.pools.size());
    std::uint64_t* to = pools_.data();
    for (pod_set& s : sets_) {
      const std::uint32_t count = s.pools.size();
      for (std::uint32_t i = 0; i < count; ++i) to[i] = s.pools.of(static_cast<std::uint8_t>(i));
      s.pools = {to, count};
      to += count;
    }
    r.sets = {sets_.data(), r.sets.size()};
  }

 private:
  vector<pod_set> sets_;
  vector<std::uint64_t> pools_;
};

/// The former name of `pod_request`.
using demand [[deprecated("allot: it is gpu::pod_request since 0.2.0")]] = pod_request;

namespace detail {

/// How many of `parts` of a device so much of its memory is, rounded up.
[[nodiscard]] constexpr std::uint32_t parts_of_memory(std::int64_t asked_mib, std::int64_t device_mib,
                                                      std::int64_t parts) noexcept {
  const std::int64_t counted = device_mib / 100 * 100;
  if (counted <= 0 || asked_mib > counted) return milli_per_gpu + 1;
  return static_cast<std::uint32_t>((asked_mib * parts + counted - 1) / counted);
}

}  // namespace detail

/// The portion of a device, in milli, that this much of its memory takes: rounded up, of the device memory
/// rounded down to a multiple of 100 MiB (as KAI-Scheduler v0.13, which fills devices by the MiB). If the
/// device has less than that, or its memory is unknown: `milli_per_gpu + 1`, which no device has.
/// Precondition: the requested memory is not 0.
[[nodiscard]] constexpr std::uint32_t portion_of_memory(std::int64_t asked_mib,
                                                        std::int64_t device_mib) noexcept {
  return detail::parts_of_memory(asked_mib, device_mib, milli_per_gpu);
}
/// What a quota is charged for it, in milli: the same in percent, rounded up (KAI-Scheduler v0.13).
[[nodiscard]] constexpr std::uint32_t charge_of_memory(std::int64_t asked_mib,
                                                       std::int64_t device_mib) noexcept {
  const std::uint32_t percent = detail::parts_of_memory(asked_mib, device_mib, 100);
  return percent > 100 ? percent : 10 * percent;
}

/// The memory that a portion of a device reserves, in MiB, rounded down: half of 32 GB is 16 GB.
[[nodiscard]] constexpr std::int64_t memory_of_portion(std::uint32_t milli,
                                                       std::int64_t device_mib) noexcept {
  return device_mib / milli_per_gpu * milli + device_mib % milli_per_gpu * milli / milli_per_gpu;
}

/// What one pod requests from one node: `milli` of each of `devices` GPUs, and what it needs of the host.
struct pod_shape {
  /// On how many GPUs of one node.
  std::uint32_t devices = 0;
  /// milli_per_gpu, or less for a fraction of a device.
  std::uint32_t milli = milli_per_gpu;
  /// The acceptable pools.
  std::uint64_t pools = all_pools;
  /// The acceptable GPU models.
  std::uint64_t models = all_models;
  /// In thousandths of a core.
  std::int64_t cpu_milli = 0;
  /// Host memory.
  std::int64_t memory_mib = 0;
  /// Not 0: determines `milli`; `node_type::shape_on` does so for the nodes of one type.
  std::int64_t gpu_memory_mib = 0;
  /// Not none: a MIG instance of this profile on one device; determines `milli` in the same way.
  mig_request mig{};
  /// See `pod_request::owner`.
  std::uint32_t owner = 0;
  /// How long it is expected to run.
  run_estimate estimate{};

  /// What of it decides whether there is room: all but the owner and the estimate.
  [[nodiscard]] constexpr pod_shape room_key() const noexcept {
    pod_shape key = *this;
    key.owner = 0;
    key.estimate = {};
    return key;
  }
  /// Whether it takes less than a whole device of each.
  [[nodiscard]] constexpr bool is_fraction() const noexcept { return milli < milli_per_gpu; }
  /// Whether its portion of a device depends on the node type.
  [[nodiscard]] constexpr bool depends_on_type() const noexcept {
    return gpu_memory_mib > 0 || !mig.is_none();
  }

  friend constexpr auto operator<=>(const pod_shape&, const pod_shape&) noexcept = default;
  friend constexpr bool operator==(const pod_shape&, const pod_shape&) noexcept = default;
};

/// Where a pod is, or is to be, placed.
struct pod_location {
  /// The node.
  node_id node;
  /// Bit d is device d of the node. None, for a pod that needs some: any suitable ones.
  std::uint64_t devices = 0;

  friend constexpr bool operator==(const pod_location&, const pod_location&) noexcept = default;
};

/// A placed pod: it has `milli` of each of its devices, and these amounts of the host.
struct placed_pod {
  /// Its node and devices.
  pod_location where;
  /// What it has of each of its devices.
  std::uint32_t milli = milli_per_gpu;
  /// CPU of the host, in thousandths of a core.
  std::int64_t cpu_milli = 0;
  /// Memory of the host.
  std::int64_t memory_mib = 0;
  /// For a MIG instance, its profile and the memory slice of the device at which it starts.
  mig_request mig{};
  /// The memory slice of the device at which the MIG instance starts.
  std::uint32_t mig_start = 0;
  /// When it is expected to end; `without_end` if that is not known, or if the policy of the inventory does
  /// not care.
  instant end = without_end;

  /// What it has of all its devices together.
  [[nodiscard]] constexpr quantity gpus() const noexcept {
    return quantity::milli(std::int64_t{milli} * count_devices(where.devices));
  }

  friend constexpr bool operator==(const placed_pod&, const placed_pod&) noexcept = default;
};

/// The pods of a request: `pods` of shape `each`, and one of shape `rest` unless that has no devices.
struct pod_split {
  /// The shape of all pods but the smaller one.
  pod_shape each;
  /// The number of these.
  std::uint64_t pods = 1;
  /// The shape of the smaller pod; without devices if there is none.
  pod_shape rest{};

  /// One pod without devices.
  constexpr pod_split() = default;
  /// So many pods of one shape, and a smaller one if that has devices.
  constexpr pod_split(const pod_shape& of_each, std::uint64_t how_many,
                      const pod_shape& of_rest = {}) noexcept
      : each(of_each), pods(how_many), rest(of_rest) {}

  /// Whether there is a smaller pod.
  [[nodiscard]] constexpr bool has_rest() const noexcept { return rest.devices > 0; }
  /// The number of pods, the smaller one included.
  [[nodiscard]] constexpr std::uint64_t all_pods() const noexcept { return pods + (has_rest() ? 1 : 0); }
};

namespace detail {

/// The part of an amount of the whole job that goes with `gpus` of its `all` GPUs, rounded up.
[[nodiscard]] constexpr std::int64_t part_of(std::int64_t amount, std::uint64_t gpus,
                                             std::uint64_t all) noexcept {
  if (amount == 0) return 0;
  const std::uint64_t each = static_cast<std::uint64_t>(amount) / all;
  const std::uint64_t left = static_cast<std::uint64_t>(amount) % all;
  return static_cast<std::int64_t>(each * gpus + (left * gpus + all - 1) / all);
}

/// The pods of a valid request. All of it returns one object, which is then made where the caller has it.
[[nodiscard]] constexpr std::optional<pod_split> split_valid(const pod_request& r, bool is_portion,
                                                             std::uint32_t largest_node) noexcept {
  const std::uint64_t gpus = static_cast<std::uint64_t>(r.gpus.in_milli()) / milli_per_gpu;
  const bool is_divided = r.total && !is_portion && largest_node > 0 && gpus > largest_node;
  const std::uint64_t size = is_divided ? largest_node : is_portion ? r.devices : gpus;
  // Sizes that no node can hold need not be distinguished.
  constexpr std::uint64_t too_many = max_gpus_per_node + 1;
  const bool is_fraction = is_portion && r.gpus > quantity{};
  std::optional<pod_split> parts{
      std::in_place,
      pod_shape{static_cast<std::uint32_t>(std::min(size, too_many)),
                is_fraction ? static_cast<std::uint32_t>(r.gpus.in_milli()) : milli_per_gpu, r.pools,
                r.models, is_divided ? part_of(r.cpu_milli, size, gpus) : r.cpu_milli,
                is_divided ? part_of(r.memory_mib, size, gpus) : r.memory_mib, r.gpu_memory_mib, r.mig,
                r.owner, r.estimate},
      is_divided ? gpus / largest_node
      : r.total  ? 1
                 : r.pods};
  const std::uint64_t rest = is_divided ? gpus % largest_node : 0;
  if (rest != 0) {
    parts->rest = parts->each;
    parts->rest.devices = static_cast<std::uint32_t>(rest);
    parts->rest.cpu_milli = part_of(r.cpu_milli, rest, gpus);
    parts->rest.memory_mib = part_of(r.memory_mib, rest, gpus);
  }
  return parts;
}

}  // namespace detail

/// The pods of a request, or nothing if it is invalid: no pods, a negative amount, more than one GPU but not
/// a whole number, more than one of GPUs, GPU memory and a MIG profile, or several devices with anything but
/// a fraction of each. Of pods in sets those of `one_of`; nothing for all of them.
///
/// A total no larger than the largest acceptable node is one pod. A larger one fills as many nodes of that
/// size as it can, with all of their GPUs, and the rest runs on one node (the rule of the Helios simulator);
/// CPU and memory are divided like the GPUs. O(1).
[[nodiscard]] constexpr std::optional<pod_split> split(const pod_request& r,
                                                       std::uint32_t largest_node) noexcept {
  if (!r.sets.empty()) {
    // Unlike pods have no one shape.
    return r.one_of < r.sets.size() ? split(r.sets[r.one_of].of(1, r), largest_node) : std::nullopt;
  }
  const std::int64_t milli = r.gpus.in_milli();
  if (!r.gpus.is_bounded() || milli < 0 || (!r.total && r.pods == 0)) return std::nullopt;
  if (r.cpu_milli < 0 || r.memory_mib < 0 || r.gpu_memory_mib < 0) return std::nullopt;
  const bool is_instance = !r.mig.is_none();
  const bool by_memory = r.gpu_memory_mib > 0;
  if ((milli > 0) + by_memory + is_instance > 1) return std::nullopt;
  const bool is_portion = r.takes_parts();
  if (r.devices != 1 && (!is_portion || is_instance || r.devices == 0)) return std::nullopt;
  if (!is_portion && milli % milli_per_gpu != 0) return std::nullopt;
  return detail::split_valid(r, is_portion, largest_node);
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
