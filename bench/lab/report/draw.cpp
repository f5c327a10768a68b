// SPDX-License-Identifier: BSL-1.0
#include "lab/report/draw.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/files.hpp"
#include "lab/io/terminal.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology/topology_graph.hpp>
#include <allot/quota/graph.hpp>
#include <allot/quota/tree.hpp>

#include <boost/graph/graphviz.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// One line of a label. Nothing in it means anything to GraphViz: no quotes, escapes or character entities;
/// control characters are written out.
std::string line_of(std::string_view text) {
  constexpr std::size_t longest = 200;
  std::string line;
  for (const char c : printable(shortened(text, longest))) {
    if (c == '&') {
      line += "&amp;";
      continue;
    }
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line;
}

std::string label_of(const vector<std::string>& lines) {
  std::string label;
  for (const std::string& line : lines) label += (label.empty() ? "" : "\\n") + line_of(line);
  return label;
}

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string title_of(const scenario& s, std::string_view what) {
  const std::string file =
      s.file == "-" ? shown_path(s.file) : std::filesystem::path{s.file}.filename().string();
  return fmt::format("{}{}{}", what, file.empty() ? "" : " of ", file);
}

/// "all", "none" or an amount.
std::string shown_limit(limit l, quantity nominal) {
  const quantity most = l.of(nominal);
  if (most.is_unlimited()) return "all";
  return most == quantity{} ? "nothing" : "at most " + to_string(most);
}

vector<std::string> lines_of(const scenario& s, const quota_spec<max_resources>& q) {
  vector<std::string> lines = {q.name};
  std::string kind;
  const auto add_kind = [&kind](bool is_it, std::string_view word) {
    if (is_it) kind.append(kind.empty() ? "" : ", ").append(word);
  };
  add_kind(q.inclusive, "inclusive");
  add_kind(q.overcommit, "overcommit");
  add_kind(q.is_static, "static");
  add_kind(q.priority != 0, "priority " + std::to_string(q.priority));
  if (!kind.empty()) lines.push_back(kind);
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    std::string line = s.resources[d] + ": nominal " + to_string(q.nominal[d]);
    // A root has no quota to lend to or to borrow from.
    if (!q.parent.empty()) {
      if (!q.is_static) {
        line += ", lends " + shown_limit(q.lend[d], q.nominal[d]);
        line += ", borrows " + shown_limit(q.borrow[d], q.nominal[d]);
      }
      line += ", weight " + to_string(quantity::milli(q.weight[d].in_milli()));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

struct graph_head {
  std::string title;
  std::string_view direction;

  void operator()(std::ostream& out) const {
    out << "graph [label=\"" << line_of(title) << "\", labelloc=t, rankdir=" << direction << "];\n";
    out << "node [shape=box];\n";
  }
};

}  // namespace

std::string draw_quotas(const scenario& s) {
  std::vector<quota_spec<max_resources>> specs;
  for (std::size_t i = 0; i < s.initial_quotas; ++i) specs.push_back(s.quotas[i].spec);
  const quota_tree<max_resources> tree{std::move(specs)};
  std::ostringstream out;
  boost::write_graphviz(
      out, tree,
      [&](std::ostream& to, quota_id x) {
        const quota_spec<max_resources>& q = tree.spec(x);
        to << " [label=\"" << label_of(lines_of(s, q)) << '"' << (q.is_static ? ", style=dashed" : "") << ']';
      },
      boost::default_writer{}, graph_head{title_of(s, "quotas"), "TB"}, get(boost::vertex_index, tree));
  return out.str();
}

std::string draw_topology(const scenario& s) {
  const gpu::cluster& nodes = *s.cluster;
  // Without levels it is the nodes alone.
  const gpu::topology layout = s.nearness ? *s.nearness : gpu::topology_from_labels(nodes, {}).value();
  const gpu::topology_graph graph{layout, nodes};
  const auto lines = [&](gpu::topology_vertex v) -> vector<std::string> {
    if (const gpu::node_id n = graph.node(v)) {
      std::string what = counted(static_cast<std::size_t>(nodes.gpus(n)), "GPU");
      const gpu::node_spec& spec = nodes.spec(n);
      const std::string_view pool = pool_as_given(spec.pool);
      if (!spec.gpu_model.empty()) what += " " + spec.gpu_model;
      if (spec.mig) what += ", in MIG mode";
      if (!pool.empty()) what.append(", pool ").append(pool);
      return {graph.name(v), what};
    }
    const gpu::domain_id d = graph.domain(v);
    std::size_t gpus = 0;
    for (const gpu::node_id n : layout.nodes(d)) gpus += static_cast<std::size_t>(nodes.gpus(n));
    return {std::string{layout.level_name(layout.level_of(d))} + ' ' + graph.name(v),
            counted(layout.nodes(d).size(), "node") + ", " + counted(gpus, "GPU")};
  };
  std::ostringstream out;
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& to, gpu::topology_vertex v) {
        to << " [label=\"" << label_of(lines(v)) << '"' << (graph.domain(v) ? ", style=rounded" : "") << ']';
      },
      boost::default_writer{}, graph_head{title_of(s, "topology"), "LR"}, get(boost::vertex_index, graph));
  return out.str();
}

int run_draw(const draw_options& options) {
  errors found;
  const auto s = read_scenario(options.source, found);
  if (s && options.topology && !s->cluster) {
    found.add(s->file, {}, "there are no nodes to draw: expected a \"cluster\", or --nodes");
  }
  if (!s || !found.empty()) return complain(found);
  const std::string text = options.topology ? draw_topology(*s) : draw_quotas(*s);
  if (options.out == "-") return print_result(text, "the graph") ? 0 : bad_input_status;
  const std::string problem = publish_file(options.out, text, options.force);
  return problem.empty() ? 0 : complain(problem);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
