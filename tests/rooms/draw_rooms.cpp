// SPDX-License-Identifier: BSL-1.0
// Draws the rooms of include/allot or bench/lab, or the parts of a host, and the includes between them, as a
// Mermaid flowchart; exits with 1 when they form a cycle. With a second argument, a Markdown file, it also
// exits with 1 unless the file contains the drawing.
//
//   draw_rooms include/allot [README.md]
//   draw_rooms bench/lab [bench/lab/README.md]
//   draw_rooms examples/hosts/slurm/src [examples/hosts/slurm/README.md]
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/graph/transitive_reduction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using graph = boost::adjacency_list<boost::setS, boost::vecS, boost::directedS>;
using vertex = graph::vertex_descriptor;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The room of a file, whose path is relative to the top: its directory, without the detail directory. Below
/// systems/ each system is a room of its own; elsewhere sub-rooms belong to their room.
std::string room_of(const std::string& header) {
  const std::filesystem::path path{header};
  if (!path.has_parent_path()) return path.filename().string();
  auto part = path.begin();
  std::string room = part->string();
  if (room != "systems") return room;
  ++part;
  const bool is_system = std::next(part) != path.end() && *part != "detail";
  return is_system ? room + '/' + part->string() : room;
}

struct rooms {
  std::vector<std::string> names;
  /// From the including room to the included one.
  graph includes;
};

/// The part of a host that a file belongs to: itself, or the one that its name begins with
/// ("governor_actions.cpp" of "governor.hpp").
std::string part_of(const std::filesystem::path& file) {
  std::string part = file.stem().string();
  const auto has_header = [&] { return exists(file.parent_path() / (part + ".hpp")); };
  while (!has_header() && part.find('_') != std::string::npos) part.resize(part.rfind('_'));
  return has_header() ? part : file.stem().string();
}

rooms rooms_of(const std::filesystem::path& top) {
  const bool is_library = top.filename() == "allot";
  const bool is_host = top.filename() == "src";
  const std::string directive = is_library ? "#include <allot/" : is_host ? "#include \"" : "#include \"lab/";
  std::map<std::string, std::set<std::string>> includes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{top}) {
    const std::filesystem::path file = entry.path().lexically_relative(top);
    // The lab's programs include all, and what it shows others includes nothing of its rooms.
    if (!is_library && !is_host && (!file.has_parent_path() || *file.begin() == "include")) continue;
    if (file.extension() != ".hpp" && (is_library || file.extension() != ".cpp")) continue;
    const auto name_of = [&](const std::string& path) {
      return is_host ? part_of(top / path) : room_of(path);
    };
    // A host's own parts, by their names or from the directory of all hosts; what is others' is not drawn.
    const std::string own = top.parent_path().filename().string() + "/src/";
    const std::string from = name_of(file.generic_string());
    std::set<std::string>& all = includes[from];
    const std::string text = text_of(entry.path());
    for (std::size_t at = text.find(directive); at != std::string::npos; at = text.find(directive, at + 1)) {
      const std::size_t begin = at + directive.size();
      std::string path = text.substr(begin, text.find_first_of(">\"", begin) - begin);
      if (is_host && path.starts_with(own)) path.erase(0, own.size());
      if (is_host && path.find('/') != std::string::npos) continue;
      const std::string to = name_of(path);
      if (to != from) all.insert(to);
    }
  }
  rooms r;
  for (const auto& [name, all] : includes) r.names.push_back(name);
  r.includes = graph{r.names.size()};
  const auto number = [&](const std::string& name) {
    return static_cast<vertex>(std::lower_bound(r.names.begin(), r.names.end(), name) - r.names.begin());
  };
  for (const auto& [name, all] : includes) {
    for (const std::string& other : all) add_edge(number(name), number(other), r.includes);
  }
  return r;
}

/// Without the arrows that are implied by others.
std::string drawing_of(const rooms& r) {
  graph reduced;
  std::map<vertex, vertex> to;
  std::vector<std::size_t> index(r.names.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = i;
  boost::transitive_reduction(r.includes, reduced, boost::make_assoc_property_map(to), index.data());
  std::string text = "```mermaid\nflowchart LR\n";
  for (std::size_t i = 0; i < r.names.size(); ++i) {
    text += "  r" + std::to_string(i) + "[\"" + r.names[i] + "\"]\n";
  }
  for (std::size_t i = 0; i < r.names.size(); ++i) {
    for (std::size_t j = 0; j < r.names.size(); ++j) {
      if (edge(to[i], to[j], reduced).second)
        text += "  r" + std::to_string(i) + " --> r" + std::to_string(j) + '\n';
    }
  }
  return text + "```\n";
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 3) {
    std::fputs("draw_rooms include/allot|bench/lab|examples/hosts/HOST/src [README.md]\n", stderr);
    return 2;
  }
  const rooms r = rooms_of(words[1]);
  std::vector<vertex> order;
  try {
    boost::topological_sort(r.includes, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    std::puts("Some rooms include each other:");
    for (auto [at, end] = edges(r.includes); at != end; ++at) {
      std::printf("  %s -> %s\n", r.names[source(*at, r.includes)].c_str(),
                  r.names[target(*at, r.includes)].c_str());
    }
    return 1;
  }
  const std::string drawing = drawing_of(r);
  std::fputs(drawing.c_str(), stdout);
  if (count == 3 && text_of(words[2]).find(drawing) == std::string::npos) {
    std::printf("\n%s does not contain this drawing: put it there.\n", words[2]);
    return 1;
  }
  return 0;
}
