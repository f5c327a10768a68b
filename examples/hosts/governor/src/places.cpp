// SPDX-License-Identifier: BSL-1.0
#include "governor/src/places.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace allot_governor {

using allot::gpu::node_id;
using allot::gpu::pod_location;
using allot::gpu::pod_shape;

std::string to_string(const no_place& why) {
  allot::gpu::unplaceable of_all = why;
  if (!why.is_apart || why.set == allot::gpu::every_set) return to_string(of_all);
  of_all.set = allot::gpu::every_set;
  return "component " + std::to_string(why.set) + ": " + to_string(of_all);
}

bool host_places::must_spread(const pod_request& d) const {
  if (!is_apart_ || !has_nodes() || d.total || d.pods < 2) return false;
  if (!d.sets.empty()) return true;
  const auto& types = inventory().layout().types();
  return std::any_of(types.begin(), types.end(), [&](const auto& t) {
    return d.gpus == allot::quantity{} || allot::quantity::whole(t.gpus) >= d.gpus * 2;
  });
}

bool host_places::has_room(node_id n, const pod_shape& pod) const {
  const auto& index = inventory().index();
  if (index.is_closed(n) || !inventory().layout().type_of(n).shape_on(pod)) return false;
  return index.choose_devices(n, pod).has_value();
}

std::optional<host_places::allocation> host_places::spread_over(const pod_request& d,
                                                                std::span<const node_id> nodes) {
  if (!d.sets.empty()) return spread_sets_over(d, nodes);
  std::vector<node_id> left;
  const auto pods = inventory().pods_of(d);
  if (!pods) return std::nullopt;
  for (const node_id n : nodes) {
    if (has_room(n, pods->each)) left.push_back(n);
  }
  if (left.size() < d.pods) return std::nullopt;
  std::stable_sort(left.begin(), left.end(), [&](node_id a, node_id b) {
    return inventory().index().free_devices(a) < inventory().index().free_devices(b);
  });
  auto next = left.begin();
  return inventory().place_each(d,
                                [&](const auto& index, const pod_shape& pod) -> std::optional<pod_location> {
                                  if (next == left.end()) return std::nullopt;
                                  const node_id n = *next++;
                                  const auto devices = index.choose_devices(n, pod);
                                  return devices ? std::optional{pod_location{n, *devices}} : std::nullopt;
                                });
}

/// The sets with the largest pods first.
std::optional<host_places::allocation> host_places::spread_sets_over(const pod_request& d,
                                                                     std::span<const node_id> nodes) {
  std::vector<std::size_t> order(d.sets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const pod_request &x = d.sets[a].each, &y = d.sets[b].each;
    return std::tie(x.gpus, x.cpu_milli, x.memory_mib) > std::tie(y.gpus, y.cpu_milli, y.memory_mib);
  });
  std::vector<node_id> left{nodes.begin(), nodes.end()};
  std::vector<std::vector<pod_location>> at(d.sets.size());
  const allot::savepoint before = inventory().save();
  for (const std::size_t i : order) {
    const auto there = spread(d.sets[i].of(d.sets[i].pods, d), left);
    if (!there) {
      inventory().rollback(before);
      return std::nullopt;
    }
    for (const allot::gpu::placed_pod& p : inventory().pods(*there)) {
      at[i].push_back(p.where);
      std::erase(left, p.where.node);
    }
  }
  inventory().rollback(before);
  std::vector<pod_location> all;
  for (const auto& of_set : at) all.insert(all.end(), of_set.begin(), of_set.end());
  return inventory().place_at(d, all);
}

/// No two are on one node, so which node a pod can have depends on none of the others: a matching, found by
/// augmenting paths. The pods of a set are alike, so these lead from set to set.
std::optional<host_places::allocation> host_places::match_sets(const pod_request& d) {
  const std::size_t nodes = inventory().layout().size();
  std::vector<std::vector<bool>> fits;
  for (const allot::gpu::pod_set& s : d.sets) {
    const auto pods = inventory().pods_of(s.of(1, d));
    if (!pods) return std::nullopt;
    auto& here = fits.emplace_back();
    for (std::size_t n = 0; n < nodes; ++n) here.push_back(has_room(node_id{n}, pods->each));
  }
  std::vector<std::optional<std::size_t>> set_on(nodes);
  std::vector<bool> is_seen;
  // One more node for a set: a free one, or that of another set that gets one more instead.
  const auto find = [&](const auto& self, std::size_t set) -> bool {
    is_seen[set] = true;
    for (const bool is_free : {true, false}) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (!fits[set][n] || set_on[n].has_value() == is_free) continue;
        if (!is_free && (is_seen[*set_on[n]] || !self(self, *set_on[n]))) continue;
        set_on[n] = set;
        return true;
      }
    }
    return false;
  };
  for (std::size_t s = 0; s < d.sets.size(); ++s) {
    for (std::uint32_t left = d.sets[s].pods; left > 0; --left) {
      is_seen.assign(d.sets.size(), false);
      if (!find(find, s)) return std::nullopt;
    }
  }
  std::vector<pod_location> at;
  for (std::size_t s = 0; s < d.sets.size(); ++s) {
    for (std::size_t n = 0; n < nodes; ++n) {
      if (set_on[n] == s) at.push_back({node_id{n}});
    }
  }
  return inventory().place_at(d, at);
}

std::optional<host_places::allocation> host_places::place(const pod_request& d) {
  if (!must_spread(d)) return allot::sim::places::place(d);
  std::vector<node_id> all(inventory().layout().size());
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = node_id{n};
  if (!d.sets.empty()) {
    const auto at = spread(d, all);
    const bool is_bound = d.required_level != allot::gpu::any_level ||
                          std::any_of(d.sets.begin(), d.sets.end(), [](const auto& s) {
                            return s.each.required_level != allot::gpu::any_level;
                          });
    return at || is_bound ? at : match_sets(d);
  }
  auto& nodes = inventory();
  const allot::savepoint before = nodes.save();
  const auto at = nodes.place(d);
  if (!at) {
    // Without being spread it is easier.
    nodes.rollback(before);
    return std::nullopt;
  }
  std::vector<std::size_t> on;
  nodes.for_each_node(*at, [&](std::size_t n) { on.push_back(n); });
  std::sort(on.begin(), on.end());
  if (std::adjacent_find(on.begin(), on.end()) == on.end()) {
    nodes.commit(before);
    return at;
  }
  nodes.rollback(before);
  return spread(d, all);
}

std::optional<host_places::allocation> host_places::spread(const pod_request& d,
                                                           std::span<const node_id> nodes) {
  const auto* near = inventory().nearness();
  if (d.has_level() && near != nullptr && near->levels() > 0) {
    std::vector<bool> is_in(inventory().layout().size());
    for (const node_id n : nodes) is_in[n.index()] = true;
    const std::size_t level = std::min<std::size_t>(d.required_level, d.preferred_level);
    if (level < near->levels()) {
      for (const auto domain : near->domains_of(level)) {
        std::vector<node_id> those;
        for (const node_id n : near->nodes(domain)) {
          if (is_in[n.index()]) those.push_back(n);
        }
        if (const auto there = spread_over(d, those)) return there;
      }
    }
    if (d.required_level != allot::gpu::any_level) return std::nullopt;
  }
  return spread_over(d, nodes);
}

bool host_places::could_place(const pod_request& d) {
  if (!must_spread(d)) return allot::sim::places::could_place(d);
  const allot::savepoint before = inventory().save();
  const bool fits = place(d).has_value();
  inventory().rollback(before);
  return fits;
}

bool host_places::could_ever_fit(const pod_request& d) const {
  if (!must_spread(d)) return allot::sim::places::could_ever_fit(d);
  if (!d.sets.empty()) {
    const auto* near = inventory().nearness();
    const auto& layout = inventory().layout();
    host_places empty = near != nullptr ? host_places{layout, *near} : host_places{layout};
    empty.keep_apart(true);
    // What the levels of its sets rule out, nobody has proved impossible.
    return empty.match_sets(d).has_value();
  }
  if (!allot::sim::places::could_ever_fit(d)) return false;
  const auto pods = inventory().pods_of(d);
  if (!pods) return false;
  const auto& layout = inventory().layout();
  const auto could_spread_over = [&](std::span<const node_id> nodes) {
    const auto suits = [&](node_id n) { return layout.type_of(n).shape_on(pods->each).has_value(); };
    return std::count_if(nodes.begin(), nodes.end(), suits) >= static_cast<std::ptrdiff_t>(d.pods);
  };
  const auto* near = inventory().nearness();
  if (near != nullptr && d.required_level < near->levels()) {
    const auto domains = near->domains_of(d.required_level);
    return std::any_of(domains.begin(), domains.end(),
                       [&](const auto domain) { return could_spread_over(near->nodes(domain)); });
  }
  std::vector<node_id> all(layout.size());
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = node_id{n};
  return could_spread_over(all);
}

no_place host_places::why_not(const pod_request& d) const {
  no_place why{allot::sim::places::why_not(d), is_apart_};
  if (why.reason != allot::gpu::obstacle::none || !must_spread(d)) return why;
  if (!d.sets.empty()) {
    why.reason = could_ever_fit(d) ? allot::gpu::obstacle::sets_not_together
                                   : allot::gpu::obstacle::sets_never_together;
    return why;
  }
  const auto pods = inventory().pods_of(d);
  std::uint64_t nodes = 0;
  for (std::size_t n = 0; pods && n < inventory().layout().size(); ++n) {
    nodes += has_room(node_id{n}, pods->each) ? 1U : 0U;
  }
  if (nodes >= d.pods) return why;
  why.reason =
      could_ever_fit(d) ? allot::gpu::obstacle::fragmented : allot::gpu::obstacle::larger_than_cluster;
  why.pods = d.pods;
  why.pods_with_room = nodes;
  return why;
}

}  // namespace allot_governor
