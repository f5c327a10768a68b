// SPDX-License-Identifier: BSL-1.0
//
// Jobs and places in JSON, as the journal and the log of events have them.
#pragma once

#include "cluster.hpp"
#include "request.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace allot_slurm {

/// Throws `std::invalid_argument` if it is no id.
[[nodiscard]] inline job_key key_of(const boost::json::value& v) {
  const auto k = parse_job_key(boost::json::value_to<std::string>(v));
  if (!k) throw std::invalid_argument{"a job without an id"};
  return *k;
}
[[nodiscard]] inline boost::json::array to_array(const std::vector<job_key>& all) {
  boost::json::array a;
  for (const job_key& k : all) a.emplace_back(to_string(k));
  return a;
}
[[nodiscard]] inline std::vector<job_key> keys_of(const boost::json::value& v) {
  std::vector<job_key> all;
  for (const auto& k : v.as_array()) all.push_back(key_of(k));
  return all;
}
/// Node, GPUs and CPUs of each.
[[nodiscard]] inline boost::json::array to_array(const std::vector<node_share>& where) {
  boost::json::array a;
  for (const node_share& s : where) a.push_back(boost::json::array{s.node, s.gpus, s.cpus});
  return a;
}
[[nodiscard]] inline std::vector<node_share> shares_of(const boost::json::value& v) {
  std::vector<node_share> all;
  for (const auto& s : v.as_array()) {
    all.push_back({boost::json::value_to<std::string>(s.at(0)), s.at(1).to_number<std::uint32_t>(),
                   s.at(2).to_number<std::uint32_t>()});
  }
  return all;
}

}  // namespace allot_slurm
