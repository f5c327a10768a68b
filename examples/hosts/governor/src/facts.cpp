// SPDX-License-Identifier: BSL-1.0
#include "governor/src/facts.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace allot_governor {

std::string to_string(const std::vector<node_share>& where) {
  std::string text;
  for (const node_share& s : where) {
    if (!text.empty()) text += ' ';
    text += s.node + ':' + std::to_string(s.gpus) + ':' + std::to_string(s.cpus);
  }
  return text;
}

std::optional<std::vector<node_share>> parse_shares(const std::string& text) {
  std::vector<node_share> all;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    const std::string one = text.substr(from, end - from);
    const std::size_t cpus = one.rfind(':');
    if (cpus == std::string::npos || cpus == 0) return std::nullopt;
    const std::size_t gpus = one.rfind(':', cpus - 1);
    if (gpus == std::string::npos || gpus == 0) return std::nullopt;
    node_share s;
    s.node = one.substr(0, gpus);
    const auto number = [&](std::size_t at, std::size_t to, std::uint32_t& n) {
      return std::from_chars(one.data() + at + 1, one.data() + to, n).ptr == one.data() + to;
    };
    if (!number(gpus, cpus, s.gpus) || !number(cpus, one.size(), s.cpus)) return std::nullopt;
    all.push_back(std::move(s));
    from = end + 1;
  }
  return all;
}

bool is_same_place(const std::vector<node_share>& a, const std::vector<node_share>& b) {
  const auto gpus_by_node = [](const std::vector<node_share>& all) {
    std::map<std::string_view, std::uint32_t> gpus;
    for (const node_share& s : all) gpus[s.node] += s.gpus;
    return gpus;
  };
  return gpus_by_node(a) == gpus_by_node(b);
}

facts facts_of(const allot::lab::job_entry& j, std::uint64_t rank) {
  facts f{.quota = j.quota,
          .request = j.request,
          .pods = j.pod_request,
          .min_pods = j.pod_request.total ? 0 : j.min_pods,
          .flavors = j.flavors,
          .sets = j.sets,
          .priority = j.priority,
          .submitted = j.submit,
          .rank = rank,
          .preemptible = j.preemptible,
          .estimate = j.estimate * 1000,
          .ready = j.ready};
  f.pods.estimate.span = f.estimate;
  return f;
}

amounts first_request(const facts& f) {
  amounts all = f.request;
  const auto add = [&all](const auto& groups, std::uint32_t times) {
    for (const allot::lab::flavor_group& g : groups) {
      if (!g.options.empty()) all += g.options.front().request * times;
    }
  };
  add(f.flavors, f.pods.total ? 1 : f.pods.pods);
  for (const auto& s : f.sets) add(s.flavors, s.pods.pods);
  return all;
}

}  // namespace allot_governor
