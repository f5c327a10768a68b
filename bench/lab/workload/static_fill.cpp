// SPDX-License-Identifier: BSL-1.0
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/placement/fragmentation.hpp>
#include <allot/lab/random.hpp>
#include <allot/lab/static_fill.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Each part of a fill draws from its own stream, so that one does not affect another.
enum class fill_stream : std::uint64_t { order, resampling, nodes };

template <class Value>
void shuffle(vector<Value>& values, random_stream random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(draw_below(random, i))]);
  }
}
[[nodiscard]] constexpr random_stream fill_random(std::uint64_t seed, fill_stream stream) noexcept {
  return random_stream{seed, static_cast<std::uint64_t>(stream)};
}

/// Sorted by name, so that the order in the file does not matter.
template <class Value, class Name>
[[nodiscard]] vector<std::size_t> by_name(const vector<Value>& values, Name name) {
  vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return name(values[a]) < name(values[b]); });
  return order;
}

/// The means over all arrivals at the same percentage, rounded to a whole percent.
class fill_curve {
 public:
  fill_curve(std::int64_t last_pct, std::int64_t capacity_milli)
      : capacity_(capacity_milli), sums_(static_cast<std::size_t>(last_pct) + 1) {}

  void add(std::int64_t arrived_milli, std::int64_t used_milli, const gpu::fragmentation& f) {
    const auto pct =
        static_cast<std::size_t>((200 * static_cast<wide>(arrived_milli) + static_cast<wide>(capacity_)) /
                                 (2 * static_cast<wide>(capacity_)));
    if (pct >= sums_.size()) return;
    sums& s = sums_[pct];
    ++s.count;
    s.used += static_cast<wide>(used_milli);
    s.fragments += f.weighted_fragments();
  }
  /// A percentage without arrivals takes the mean of its neighbours, or else the previous row.
  [[nodiscard]] vector<fill_row> rows(std::int64_t weight) const {
    vector<fill_row> rows;
    for (std::size_t pct = 0; pct < sums_.size(); ++pct) {
      sums s = sums_[pct];
      if (s.count == 0) {
        if (pct > 0) s += sums_[pct - 1];
        if (pct + 1 < sums_.size()) s += sums_[pct + 1];
      }
      fill_row row = s.count == 0 && !rows.empty() ? rows.back() : fill_row{};
      row.arrived_pct = static_cast<std::int64_t>(pct);
      if (s.count > 0) {
        row.allocated = hundredths(s.used, s.count, 1);
        row.fragmented = weight == 0 ? 0 : hundredths(s.fragments, s.count, weight);
      }
      rows.push_back(row);
    }
    return rows;
  }

 private:
  struct sums {
    std::int64_t count = 0;
    wide used = 0;
    wide fragments = 0;

    sums& operator+=(const sums& o) {
      count += o.count;
      used += o.used;
      fragments += o.fragments;
      return *this;
    }
  };
  /// In hundredths of a percent, rounded to the nearest.
  [[nodiscard]] std::int64_t hundredths(wide sum, std::int64_t count, std::int64_t weight) const {
    const wide whole = static_cast<wide>(capacity_) * static_cast<wide>(count) * static_cast<wide>(weight);
    return static_cast<std::int64_t>((20'000 * sum + whole) / (2 * whole));
  }

  std::int64_t capacity_;
  vector<sums> sums_;
};

}  // namespace

result<gpu::cluster> openb_cluster(const vector<openb_node>& nodes, std::uint64_t seed) {
  vector<std::size_t> order =
      by_name(nodes, [](const openb_node& n) -> const std::string& { return n.name; });
  shuffle(order, fill_random(seed, fill_stream::nodes));
  vector<gpu::node_spec> specs;
  specs.reserve(nodes.size());
  for (const std::size_t i : order) {
    const openb_node& n = nodes[i];
    gpu::node_spec& s = specs.emplace_back();
    s.name = n.name;
    s.gpus = n.gpus;
    s.gpu_model = n.model;
    s.cpu_milli = n.cpu_milli;
    s.memory_mib = n.memory_mib;
  }
  return gpu::build_cluster(std::move(specs));
}

vector<gpu::pod_shape> openb_shapes(const vector<openb_pod>& pods, const gpu::cluster& layout) {
  vector<gpu::pod_shape> shapes;
  shapes.reserve(pods.size());
  for (const std::size_t i : by_name(pods, [](const openb_pod& p) -> const std::string& { return p.name; })) {
    const openb_pod& p = pods[i];
    gpu::pod_shape& shape = shapes.emplace_back();
    constexpr std::int64_t too_many = gpu::max_gpus_per_node + 1;
    shape.devices = static_cast<std::uint32_t>(std::min(p.num_gpu, too_many));
    if (p.num_gpu > 0) shape.milli = static_cast<std::uint32_t>(p.gpu_milli);
    shape.cpu_milli = p.cpu_milli;
    shape.memory_mib = p.memory_mib;
    if (!p.gpu_spec.empty()) shape.models = 0;
    for (const std::string& name : p.gpu_spec) {
      if (const auto model = layout.find_model(name)) shape.models |= std::uint64_t{1} << *model;
    }
  }
  return shapes;
}

gpu::typical_pods typical_of(const vector<gpu::pod_shape>& pods) {
  gpu::seen_pods seen{pods.size()};
  for (const gpu::pod_shape& p : pods) seen.learn(p);
  return seen.typical();
}

vector<std::uint32_t> fill_arrivals(const vector<gpu::pod_shape>& pods, quantity gpus,
                                    const fill_options& options) {
  const auto asks = [&](std::uint32_t i) { return std::int64_t{pods[i].devices} * pods[i].milli; };
  vector<std::uint32_t> order(pods.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  shuffle(order, fill_random(options.seed, fill_stream::order));
  std::int64_t asked = 0;
  for (const std::uint32_t i : order) asked += asks(i);
  // Compared in thousandths of a milli-GPU.
  const wide most = static_cast<wide>(gpus.in_milli()) * static_cast<wide>(options.arrivals_milli);
  const auto is_too_much = [most](std::int64_t milli) { return static_cast<wide>(milli) * 1000U > most; };
  if (asked == 0) return order;
  random_stream random = fill_random(options.seed, fill_stream::resampling);
  if (is_too_much(asked)) {
    while (is_too_much(asked)) {
      const auto at = static_cast<std::size_t>(draw_below(random, order.size()));
      asked -= asks(order[at]);
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return order;
  }
  for (;;) {
    const auto next = static_cast<std::uint32_t>(draw_below(random, pods.size()));
    const std::int64_t one_device = pods[next].devices == 0 ? 0 : pods[next].milli;
    if (is_too_much(asked + one_device)) return order;
    asked += asks(next);
    order.push_back(next);
  }
}

vector<fill_row> static_fill(const gpu::cluster& layout, const vector<gpu::pod_shape>& pods,
                             const vector<std::uint32_t>& arrivals, const gpu::typical_pods& typical,
                             const placement_choice& choose, std::int64_t last_pct) {
  gpu::free_index index{layout};
  gpu::fragmentation fragments{layout, typical};
  fill_curve curve{last_pct, layout.gpus().in_milli()};
  std::int64_t arrived = 0;
  std::int64_t used = 0;
  for (const std::uint32_t i : arrivals) {
    arrived += std::int64_t{pods[i].devices} * pods[i].milli;
    if (const auto where = choose(index, pods[i])) {
      const gpu::placed_pod placed = index.placed(*where, pods[i]);
      index.occupy(placed);
      used += placed.gpus().in_milli();
    }
    fragments.look(index);
    curve.add(arrived, used, fragments);
  }
  return curve.rows(fragments.weight());
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
