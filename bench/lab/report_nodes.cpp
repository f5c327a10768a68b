// SPDX-License-Identifier: BSL-1.0
// Who stood where, at the instant at which the most was in use.
#include "lab/outputs.hpp"
#include "lab/report.hpp"

#include <allot/sim/trace.hpp>

#include <bit>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

/// More than a page shows well.
constexpr std::size_t most_nodes = 256;
/// So that a node with a fraction on every device stays readable, and the page small.
constexpr std::size_t most_shares = 8;

struct share {
  sim::job_index job = 0;
  std::uint32_t milli = 0;
};

}  // namespace

void write_node_map(std::string& html, const replay_result& r, const std::vector<layer>& layers) {
  if (r.cluster == nullptr || r.time.most_used == 0) return;
  const gpu::cluster& cluster = *r.cluster;
  const instant at = r.time.busiest;
  std::vector<std::vector<share>> on_device(cluster.devices());
  for (const sim::job_run& run : r.log.runs()) {
    if (run.begin > at || run.end <= at) continue;
    for (const gpu::placed_pod& pod : r.log.pods(run)) {
      const std::uint32_t first = cluster.position_of(pod.where.node).first_device;
      for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
        on_device[first + static_cast<std::uint32_t>(std::countr_zero(left))].push_back({run.job, pod.milli});
      }
    }
  }
  std::vector<const replayed_job*> jobs;
  for (const replayed_job& j : r.jobs) {
    if (j.index) jobs.push_back(&j);
  }
  const std::vector<std::size_t> colours = colours_of(r, layers);

  html.append("<figure><figcaption><h2>Nodes at the busiest moment</h2><p>day ");
  html.append(decimal(at / sim::day * 1000))
      .append(", ")
      .append(human_time(at % sim::day))
      .append(" into it: ");
  html.append(rounded(r.time.most_used, 1)).append(" GPUs in use; a square is a GPU");
  if (cluster.size() > most_nodes) {
    html.append("; the first ").append(grouped(most_nodes)).append(" of ").append(grouped(cluster.size()));
    html.append(" nodes");
  }
  html += "</p></figcaption>\n<div class=nodes>\n";
  for (std::size_t n = 0; n < std::min(cluster.size(), most_nodes); ++n) {
    const gpu::node_id node{n};
    html.append("<div><span>").append(escaped(cluster.name(node))).append("</span><p>");
    for (std::uint32_t d = 0; d < cluster.gpus(node); ++d) {
      const auto& shares = on_device[cluster.position_of(node).first_device + d];
      html += "<b>";
      for (std::size_t i = 0; i < std::min(shares.size(), most_shares); ++i) {
        const replayed_job& job = *jobs[shares[i].job];
        html.append("<u class=q").append(std::to_string(colours[job.quota.index()]));
        if (shares[i].milli < gpu::milli_per_gpu) {
          html.append(" style=\"height:").append(decimal(std::int64_t{shares[i].milli} * 100)).append("%\"");
        }
        html.append(" title=\"").append(escaped(job.id)).append(", ");
        html.append(escaped(r.quotas[job.quota.index()].name)).append("\"></u>");
      }
      html += "</b>";
    }
    html += "</p></div>\n";
  }
  html += "</div></figure>\n";
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
