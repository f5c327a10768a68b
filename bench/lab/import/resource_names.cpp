// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/import/resource_names.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr nano_amount kb = nano * 1000;
constexpr nano_amount mib = nano * 1'048'576;

/// Whether a scenario can say that amount.
[[nodiscard]] bool fits(nano_amount amount, nano_amount unit) {
  return amount / unit <= most_milli / 1000;
}

[[nodiscard]] bool is_in_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

/// GPUs first, because they matter most; then what every pod requests.
[[nodiscard]] int rank_of(std::string_view name) {
  if (name == "gpu") return 0;
  if (name.find("gpu") != std::string_view::npos) return 1;
  if (name == "cpu") return 2;
  if (name.starts_with("memory_")) return 3;
  return 4;
}

}  // namespace

void resource_names::add(const std::string& resource, const std::string& flavor) {
  const auto [at, is_new] = entries_.try_emplace(resource);
  if (is_new) order_.push_back(resource);
  vector<std::string>& flavors = at->second.flavors;
  if (std::find(flavors.begin(), flavors.end(), flavor) == flavors.end()) flavors.push_back(flavor);
}

void resource_names::add_amount(const std::string& resource, nano_amount amount) {
  const auto at = entries_.find(resource);
  if (at == entries_.end()) return;
  at->second.most = std::max(at->second.most, amount);
  if (fits(amount, mib) && amount * 1000 % mib != 0) at->second.is_exact_in_mib = false;
}

void resource_names::add_request(const std::string& resource, nano_amount amount, std::int64_t count) {
  add_amount(resource, amount);
  const auto at = entries_.find(resource);
  if (at != entries_.end()) at->second.most_asked = std::max(at->second.most_asked, amount * count);
}

std::string_view resource_names::choose_unit(const std::string& resource, entry& e, import_log& log) {
  if (e.is_exact_in_mib && fits(e.most_asked, mib)) {
    e.unit = mib;
    return "_mib";
  }
  if (fits(e.most, kb) && fits(e.most_asked, kb)) {
    e.unit = kb;
    log.note(resource, "counted in units of 1000 bytes, in which all amounts are exact");
    return "_kb";
  }
  const bool is_small = fits(e.most_asked, mib);
  e.unit = is_small ? mib : mib * 1024;
  log.note(resource, is_small ? "requests are rounded up to thousandths of a MiB"
                              : "counted in GiB, requests are rounded up to thousandths of that");
  return is_small ? "_mib" : "_gib";
}

void resource_names::choose(import_log& log) {
  bool has_gpu = entries_.find("nvidia.com/gpu") != entries_.end();
  std::set<std::string, std::less<>> taken;
  for (const std::string& resource : order_) {
    entry& e = entries_.find(resource)->second;
    if (is_in_bytes(resource)) {
      e.name = resource;
      e.name += choose_unit(resource, e, log);
    } else if (resource == "nvidia.com/gpu" || (resource.ends_with("/gpu") && !has_gpu)) {
      e.name = "gpu";
      has_gpu = true;
    } else {
      // In the scenario a slash separates a flavor from the resource.
      e.name = resource;
      std::replace(e.name.begin(), e.name.end(), '/', '.');
    }
    // "nvidia.com/gpu" and "gpu" are two resources.
    while (!taken.insert(e.name).second) e.name += '_';
    if (e.name != resource && e.name != "gpu" && resource != "memory") {
      log.note(resource, "called " + e.name + " in the scenario");
    }
  }
  std::stable_sort(order_.begin(), order_.end(), [&](const std::string& a, const std::string& b) {
    return rank_of(entries_.find(a)->second.name) < rank_of(entries_.find(b)->second.name);
  });
  for (const std::string& resource : order_) {
    entry& e = entries_.find(resource)->second;
    const std::size_t room = max_resources - dimensions_.size();
    const std::size_t wanted = e.flavors.size();
    // GPUs in some of their flavors are better than none; other resources are all or nothing.
    if (wanted > room && (rank_of(e.name) > 1 || room == 0)) {
      log.note(resource, "is not carried over: this program counts at most " + std::to_string(max_resources) +
                             " resources, flavors told apart");
      continue;
    }
    e.is_counted = true;
    if (wanted > room) {
      for (std::size_t i = room; i < wanted; ++i) {
        log.note(resource, "its flavor " + e.flavors[i] +
                               " is not carried over: this program counts at most " +
                               std::to_string(max_resources) + " resources, flavors told apart");
      }
      e.flavors.resize(room);
    }
    if (wanted == 1) {
      dimensions_.push_back(e.name);
    } else {
      for (const std::string& flavor : e.flavors) dimensions_.push_back(flavor + '/' + e.name);
    }
    // If only one of several flavors is left, it is still distinguished from the others.
    if (wanted > 1 && e.flavors.size() == 1) e.flavors.emplace_back();
  }
}

void resource_names::add_plain(const std::string& name) {
  if (dimensions_.size() == max_resources) return;
  entry& e = entries_[name];
  e.name = name;
  e.flavors = {std::string{}};
  e.is_counted = true;
  dimensions_.push_back(name);
}

const resource_names::entry* resource_names::find(std::string_view resource) const {
  const auto at = entries_.find(resource);
  return at == entries_.end() || !at->second.is_counted ? nullptr : &at->second;
}

bool resource_names::counts(std::string_view resource) const {
  return find(resource) != nullptr;
}

bool resource_names::has_flavors(std::string_view resource) const {
  const entry* const e = find(resource);
  return e != nullptr && e->flavors.size() > 1;
}

std::string resource_names::dimension(std::string_view resource, std::string_view flavor) const {
  const entry* const e = find(resource);
  if (e == nullptr) return {};
  const bool is_there = std::find(e->flavors.begin(), e->flavors.end(), flavor) != e->flavors.end();
  if (e->flavors.size() == 1) return is_there ? e->name : std::string{};
  return is_there && !flavor.empty() ? std::string{flavor}.append("/").append(e->name) : std::string{};
}

const std::string& resource_names::plain(std::string_view resource) const {
  static const std::string none;
  const entry* const e = find(resource);
  return e == nullptr ? none : e->name;
}

bool resource_names::can_say(std::string_view resource, nano_amount amount) const {
  const entry* const e = find(resource);
  return e == nullptr || amount <= e->unit * (most_milli / 1000);
}

std::int64_t resource_names::milli(std::string_view resource, nano_amount amount, bool round_up) const {
  const entry* const e = find(resource);
  const nano_amount unit = e == nullptr ? nano : e->unit;
  constexpr nano_amount milli_per_unit = 1000;
  const nano_amount scaled = amount * milli_per_unit;
  const nano_amount n = scaled / unit + (round_up && scaled % unit != 0 ? 1 : 0);
  return static_cast<std::int64_t>(std::min<nano_amount>(n, most_milli));
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
