// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/mig/mig_profile.hpp>
#include <allot/gpu/mig/mig_request.hpp>
#include <allot/gpu/node_spec.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Marks an amount that a node type does not specify: more than any node can have.
inline constexpr std::int64_t not_counted = max_host_amount + 1;

/// Nodes that placement can't tell apart while they are empty: same pool and same amount of everything.
struct node_type {
  /// An index into `cluster::pools`.
  std::uint32_t pool = 0;
  /// The number of GPUs of a node.
  std::uint32_t gpus = 0;
  /// An index into `cluster::models`.
  std::uint32_t model = 0;
  /// Of each GPU; 0 if unknown.
  std::int64_t gpu_memory_mib = 0;
  /// In thousandths of a core; `not_counted` if there is enough for every pod.
  std::int64_t cpu_milli = not_counted;
  /// Host memory; `not_counted` if there is enough for every pod.
  std::int64_t memory_mib = not_counted;
  /// The most pods on a node; `not_counted` if there is no bound.
  std::int64_t pod_slots = not_counted;
  /// If the GPUs are in MIG mode.
  std::optional<mig_model> mig{};
  /// In the order of their ids; the rank of a node is its position here.
  vector<node_id> nodes{};

  /// @{
  /// Whether the set of pools, or of models, has that of this type.
  [[nodiscard]] bool is_in(std::uint64_t pools) const noexcept { return (pools >> pool & 1U) != 0; }
  [[nodiscard]] bool is_of(std::uint64_t models) const noexcept { return (models >> model & 1U) != 0; }
  /// @}

  /// @{
  /// Whether the type bounds CPU, memory or pods.
  [[nodiscard]] bool counts_cpu() const noexcept { return cpu_milli != not_counted; }
  [[nodiscard]] bool counts_memory() const noexcept { return memory_mib != not_counted; }
  [[nodiscard]] bool counts_slots() const noexcept { return pod_slots != not_counted; }
  /// @}

  /// Whether pods of this shape may run on these nodes, and would fit if they are empty; but for the portion
  /// of a device, where that depends on the type.
  [[nodiscard]] bool suits(const pod_shape& pod) const noexcept {
    return is_in(pod.pools) && is_of(pod.models) && suits_in_any_pool(pod);
  }
  /// The shape of the pod on these nodes, with its portion of a device resolved; nothing if it may not run on
  /// them, or would not fit even when they are empty.
  [[nodiscard]] std::optional<pod_shape> shape_on(const pod_shape& pod) const noexcept {
    if (!is_in(pod.pools) || !is_of(pod.models)) return std::nullopt;
    return shape_in_any_pool(pod);
  }
  /// The same, whatever its pools and models.
  [[nodiscard]] std::optional<pod_shape> shape_in_any_pool(const pod_shape& pod) const noexcept {
    if (!suits_in_any_pool(pod)) return std::nullopt;
    if (!pod.depends_on_type()) return pod;
    pod_shape here = pod;
    if (mig) {
      const auto profile = profile_of(*mig, pod.mig);
      if (!profile) return std::nullopt;
      here.milli = portion_of(*mig, *profile);
    } else {
      here.milli = portion_of_memory(pod.gpu_memory_mib, gpu_memory_mib);
      if (here.milli > milli_per_gpu) return std::nullopt;
    }
    return here;
  }

  /// Whether the nodes of both types differ only in their ids.
  [[nodiscard]] bool is_like(const node_type& o) const noexcept {
    return pool == o.pool && gpus == o.gpus && model == o.model && gpu_memory_mib == o.gpu_memory_mib &&
           cpu_milli == o.cpu_milli && memory_mib == o.memory_mib && pod_slots == o.pod_slots && mig == o.mig;
  }

  friend bool operator==(const node_type&, const node_type&) = default;

 private:
  [[nodiscard]] bool suits_in_any_pool(const pod_shape& pod) const noexcept {
    if (pod.devices > gpus) return false;
    if (counts_cpu() && pod.cpu_milli > cpu_milli) return false;
    if (counts_memory() && pod.memory_mib > memory_mib) return false;
    return pod.devices == 0 || mig.has_value() != pod.mig.is_none();
  }
};

/// The machines of a cluster as specified: names, sizes, pools. Immutable; `free_index` tracks what is free.
/// Made by `build_cluster`; empty by default.
///
/// Queries meant for users accept any id: a node that does not exist has no name and no GPUs. `position_of`
/// and `type_of` are unchecked (`ALLOT_ASSERT`), for callers that hold nodes of this cluster.
class cluster {
 public:
  /// Far more than any cluster has, yet few enough that a typo in `count` does not exhaust memory.
  static constexpr std::int64_t max_nodes = std::int64_t{1} << 20;
  /// @{
  /// The most pools, and models, of one cluster: sets of them are the bits of one word.
  static constexpr std::size_t max_pools = 64;
  static constexpr std::size_t max_models = 64;
  /// @}

  /// The position of a node in the dense arrays.
  struct position {
    /// An index into `types`.
    std::uint32_t type = 0;
    /// Its position among the nodes of its type.
    std::uint32_t rank = 0;
    /// Device d of the node is the cluster's device first_device + d.
    std::uint32_t first_device = 0;
    /// The number of the specification that it comes from.
    std::uint32_t spec = 0;

    friend bool operator==(const position&, const position&) = default;
  };

  cluster() = default;

  /// The number of nodes; their ids are below it.
  [[nodiscard]] std::size_t size() const noexcept { return positions_.size(); }
  /// Whether there is such a node.
  [[nodiscard]] bool contains(node_id n) const noexcept { return n.index() < positions_.size(); }
  /// @{
  /// The number of GPUs of all nodes, as a number and as an amount.
  [[nodiscard]] std::size_t devices() const noexcept { return devices_; }
  [[nodiscard]] quantity gpus() const noexcept {
    return quantity::whole(static_cast<std::int64_t>(devices_));
  }
  /// @}

  /// Its position. Precondition: the node exists (`ALLOT_ASSERT`).
  [[nodiscard]] const position& position_of(node_id n) const {
    ALLOT_ASSERT(contains(n), "not a node of this cluster");
    return positions_[n.index()];
  }
  /// Its type. Precondition: the node exists (`ALLOT_ASSERT`).
  [[nodiscard]] const node_type& type_of(node_id n) const { return types_[position_of(n).type]; }
  /// The number of GPUs of a node.
  [[nodiscard]] std::uint32_t gpus(node_id n) const noexcept { return contains(n) ? type_of(n).gpus : 0; }
  /// Its name; empty for a node that does not exist.
  [[nodiscard]] const std::string& name(node_id n) const noexcept {
    static const std::string nameless;
    return contains(n) ? names_[n.index()] : nameless;
  }
  /// The specification; its name is that of the node only if it has no count.
  [[nodiscard]] const node_spec& spec(node_id n) const {
    static const node_spec nothing{};
    return contains(n) ? specs_[position_of(n).spec] : nothing;
  }

  /// In order of first appearance in the specification.
  [[nodiscard]] const vector<node_type>& types() const noexcept { return types_; }
  /// The names of the pools; pool p is bit p of a request's pools. In the order of first mention.
  [[nodiscard]] const vector<std::string>& pools() const noexcept { return pools_; }
  /// The GPU models; model m is bit m of a request's models. In the order of first mention.
  [[nodiscard]] const vector<std::string>& models() const noexcept { return models_; }

  /// The number of GPUs of the largest node in these pools and of these models that offers whole GPUs (is not
  /// in MIG mode); 0 if there is none. O(types).
  [[nodiscard]] std::uint32_t largest_node(std::uint64_t pools = all_pools,
                                           std::uint64_t models = all_models) const noexcept {
    std::uint32_t most = 0;
    for (const node_type& t : types_) {
      if (t.is_in(pools) && t.is_of(models) && !t.mig) most = std::max(most, t.gpus);
    }
    return most;
  }
  /// All GPUs in these pools and of these models. O(types).
  [[nodiscard]] quantity gpus_in(std::uint64_t pools, std::uint64_t models = all_models) const noexcept {
    quantity sum;
    for (const node_type& t : types_) {
      if (t.is_in(pools) && t.is_of(models))
        sum += quantity::whole(t.gpus) * static_cast<std::int64_t>(t.nodes.size());
    }
    return sum;
  }

  /// O(log nodes).
  [[nodiscard]] std::optional<node_id> find(std::string_view name) const noexcept {
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [&](node_id n, std::string_view s) { return names_[n.index()] < s; });
    if (at == by_name_.end() || names_[at->index()] != name) return std::nullopt;
    return *at;
  }
  /// The index of a pool. O(pools).
  [[nodiscard]] std::optional<std::uint32_t> find_pool(std::string_view name) const noexcept {
    return index_in(pools_, name);
  }
  /// The index of a GPU model. O(models).
  [[nodiscard]] std::optional<std::uint32_t> find_model(std::string_view name) const noexcept {
    return index_in(models_, name);
  }

  friend bool operator==(const cluster&, const cluster&) = default;
  friend result<cluster> build_cluster(vector<node_spec> specs);

 private:
  class builder;

  [[nodiscard]] static std::optional<std::uint32_t> index_in(const vector<std::string>& names,
                                                             std::string_view name) noexcept {
    const auto at = allot::detail::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - names.begin());
  }

  vector<node_spec> specs_;
  vector<position> positions_;
  vector<std::string> names_;
  vector<node_id> by_name_;
  vector<node_type> types_;
  vector<std::string> pools_;
  vector<std::string> models_;
  std::size_t devices_ = 0;
};

/// The pods of a request on these nodes, or nothing if it is invalid: a total is divided by the largest of
/// the acceptable ones. O(types).
[[nodiscard]] inline std::optional<pod_split> split(const pod_request& r, const cluster& on) {
  return split(r, r.total ? on.largest_node(r.pools, r.models) : 0);
}

namespace detail {

/// Visits the types on which a pod may run, with its shape there, which lasts as long as the visit.
template <class Visit>
void for_each_type(const cluster& layout, const pod_shape& pod, Visit visit) {
  const bool depends = pod.depends_on_type();
  for (std::size_t t = 0; t < layout.types().size(); ++t) {
    const node_type& type = layout.types()[t];
    if (!depends) {
      if (type.suits(pod)) visit(t, pod);
    } else if (const auto here = type.shape_on(pod)) {
      visit(t, *here);
    }
  }
}

}  // namespace detail

/// Lays out the nodes and collects the problems, in the order of the specifications.
class cluster::builder {
 public:
  explicit builder(vector<node_spec> specs) { made_.specs_ = std::move(specs); }

  /// The cluster, or everything that is wrong with the specifications. O(n log n).
  [[nodiscard]] result<cluster> build() && {
    for (const node_spec& s : made_.specs_) check_fields(s);
    if (nodes_ > max_nodes) {
      report(problem_code::out_of_range, made_.specs_.back(), "count",
             {"there are more than ", std::to_string(max_nodes), " nodes"});
      return std::move(found_);
    }
    made_.positions_.reserve(static_cast<std::size_t>(nodes_));
    made_.names_.reserve(static_cast<std::size_t>(nodes_));
    for (std::size_t s = 0; s < made_.specs_.size(); ++s) add_nodes(s);
    for (node_type& t : made_.types_) t.nodes = vector<node_id>(t.nodes);
    sort_names();
    if (!found_.empty()) return std::move(found_);
    return std::move(made_);
  }

 private:
  void report(problem_code code, const node_spec& s, std::string_view field,
              std::initializer_list<std::string_view> text) {
    allot::detail::add_problem(found_, code, s.name, field, text);
  }

  void check_amount(const node_spec& s, std::int64_t value, const char* field) {
    if (value >= 0 && value <= max_host_amount) return;
    const std::string amount = std::to_string(value);
    value < 0 ? report(problem_code::negative, s, field,
                       {field, " of ", s.name, " is ", amount, ": it can't be negative"})
              : report(problem_code::out_of_range, s, field,
                       {field, " of ", s.name, " is ", amount, ": it can't be above ",
                        std::to_string(max_host_amount)});
  }

  void check_fields(const node_spec& s) {
    if (s.name.empty()) report(problem_code::empty_name, s, "name", {"a node needs a name"});
    if (s.count && *s.count < 1) {
      report(problem_code::out_of_range, s, "count",
             {"the count of ", s.name, " is ", std::to_string(*s.count), ": there must be at least one"});
    }
    nodes_ += nodes_of(s);
    if (s.gpus < 0 || s.gpus > max_gpus_per_node) {
      report(problem_code::out_of_range, s, "gpus",
             {s.name, " has ", std::to_string(s.gpus), " GPUs: a node has from 0 to ",
              std::to_string(max_gpus_per_node)});
    }
    check_amount(s, s.gpu_memory_mib, "gpu_memory_mib");
    check_amount(s, s.cpu_milli, "cpu_milli");
    check_amount(s, s.memory_mib, "memory_mib");
    check_amount(s, s.pod_slots, "pod_slots");
    if (s.mig && !find_mig_model(s.gpu_model, s.gpu_memory_mib)) {
      report(problem_code::unknown_name, s, "mig",
             {"the GPUs of ", s.name, " can't be in MIG mode: ",
              s.gpu_model.empty() ? "they have no model"
                                  : "expected A30, A100, H100, H200 or B200, for A100 and H100 with the "
                                    "memory, found ",
              s.gpu_model});
    }
    for (std::size_t i = 0; i < s.labels.size(); ++i) check_label(s, i);
    mention(s, s.pool, made_.pools_, max_pools, "pool");
    mention(s, s.gpu_model, made_.models_, max_models, "gpu_model");
  }

  /// Assigns an index to a name on first mention; reports once that there are too many.
  void mention(const node_spec& s, const std::string& name, vector<std::string>& names, std::size_t most,
               const char* field) {
    if (index_in(names, name) || names.size() > most) return;
    names.push_back(name);
    if (names.size() == most + 1) {
      report(problem_code::out_of_range, s, field,
             {"with ", name, " there are more than ", std::to_string(most), " of them"});
    }
  }

  void check_label(const node_spec& s, std::size_t i) {
    const std::string& key = s.labels[i].key;
    if (key.empty()) report(problem_code::empty_name, s, "labels", {"a label of ", s.name, " has no key"});
    for (std::size_t j = 0; j < i; ++j) {
      if (s.labels[j].key != key) continue;
      report(problem_code::duplicate_name, s, "labels", {s.name, " has more than one label ", key});
      return;
    }
  }

  /// Capped just above the limit, so that the sum can't overflow.
  [[nodiscard]] static std::int64_t nodes_of(const node_spec& s) noexcept {
    return s.count ? std::clamp<std::int64_t>(*s.count, 0, max_nodes + 1) : 1;
  }

  void add_nodes(std::size_t spec) {
    const node_spec& s = made_.specs_[spec];
    const std::int64_t nodes = nodes_of(s);
    // An invalid size does not keep the names from being compared.
    const auto gpus = static_cast<std::uint32_t>(std::clamp<std::int64_t>(s.gpus, 0, max_gpus_per_node));
    const auto counted = [](std::int64_t amount) { return amount > 0 ? amount : not_counted; };
    const std::uint32_t type =
        type_like({made_.find_pool(s.pool).value_or(0), gpus, made_.find_model(s.gpu_model).value_or(0),
                   s.gpu_memory_mib, counted(s.cpu_milli), counted(s.memory_mib), counted(s.pod_slots),
                   s.mig ? find_mig_model(s.gpu_model, s.gpu_memory_mib) : std::nullopt});
    vector<node_id>& alike = made_.types_[type].nodes;
    for (std::int64_t i = 0; i < nodes; ++i) {
      made_.names_.push_back(s.count ? s.name + "-" + std::to_string(i) : s.name);
      made_.positions_.push_back({type, static_cast<std::uint32_t>(alike.size()),
                                  static_cast<std::uint32_t>(made_.devices_),
                                  static_cast<std::uint32_t>(spec)});
      alike.push_back(node_id{made_.size() - 1});
      made_.devices_ += gpus;
    }
  }

  [[nodiscard]] std::uint32_t type_like(node_type type) {
    vector<node_type>& types = made_.types_;
    const auto at = allot::detail::find_if(types.begin(), types.end(),
                                           [&](const node_type& t) { return t.is_like(type); });
    const auto index = static_cast<std::uint32_t>(at - types.begin());
    if (at == types.end()) types.push_back(std::move(type));
    return index;
  }

  /// Sorts the nodes by name and reports, at most once per specification, that one of its nodes has the name
  /// of an earlier node.
  void sort_names() {
    vector<node_id>& order = made_.by_name_;
    order.reserve(made_.size());
    for (std::size_t n = 0; n < made_.size(); ++n) order.push_back(node_id{n});
    const auto name = [this](node_id n) -> const std::string& { return made_.names_[n.index()]; };
    allot::detail::sort(order.begin(), order.end(), [&](node_id a, node_id b) {
      const int by_name = name(a).compare(name(b));
      return by_name != 0 ? by_name < 0 : a < b;
    });
    vector<node_id> clash(made_.specs_.size());
    for (std::size_t k = 1; k < order.size(); ++k) {
      if (name(order[k]) != name(order[k - 1]) || name(order[k]).empty()) continue;
      node_id& first = clash[made_.position_of(order[k]).spec];
      first = std::min(first, order[k]);
    }
    for (const node_id n : clash) {
      if (n.is_none()) continue;
      allot::detail::add_problem(found_, problem_code::duplicate_name, name(n), "name",
                                 {"there is more than one node named ", name(n)});
    }
  }

  cluster made_;
  std::int64_t nodes_ = 0;
  vector<problem> found_;
};

/// The cluster of these machines, or all problems with them: names that are empty or duplicate (after
/// expanding counts), a count below 1, GPUs outside 0 to 64, amounts that are negative or above
/// `max_host_amount`, labels with an empty or duplicate key, more than 64 pools or models, more nodes than
/// `cluster::max_nodes`. O(n log n + specifications x types).
inline result<cluster> build_cluster(vector<node_spec> specs) {
  return cluster::builder{std::move(specs)}.build();
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
