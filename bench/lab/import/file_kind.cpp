// SPDX-License-Identifier: BSL-1.0
#include "lab/import/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] bool has_all(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

struct magic {
  std::string_view bytes;
  std::string_view what;
};
constexpr std::array<magic, 10> binaries = {
    {{"PAR1", "a Parquet file"},
     {"ARROW1", "an Arrow file"},
     {"SQLite format 3", "an SQLite database"},
     {"PK\x03\x04", "a ZIP archive"},
     {"\x28\xB5\x2F\xFD", "packed with zstd"},
     {"\xFD"
      "7zXZ",
      "packed with xz"},
     {"BZh", "packed with bzip2"},
     {"\x89HDF", "an HDF5 file"},
     {"%PDF", "a PDF"},
     {"version https://git-lfs", "a pointer of Git LFS, not the file"}}};

/// Empty if they are none.
[[nodiscard]] std::string_view what_objects_are(std::string_view text) {
  if (has_all(text, {"physicalCluster"})) return "a configuration of HiveD, which allot import hived reads";
  if (!has_all(text, {"apiVersion", "kind"})) return {};
  if (has_all(text, {"kueue.x-k8s.io"})) return "objects of Kueue, which allot import kueue reads";
  if (has_all(text, {"run.ai"})) return "objects of KAI, which allot import kai reads";
  return "objects of Kubernetes, which allot import kubernetes reads";
}

[[nodiscard]] std::string_view what_json_is(std::string_view text) {
  if (has_all(text, {"\"attempts\"", "\"jobid\""}))
    return "a job log of Philly, which allot import philly reads";
  if (has_all(text, {"\"allot-scenario/1\""})) return "a scenario of allot, which needs no import";
  if (has_all(text, {"\"jobs\""}) && (has_all(text, {"\"tres\""}) || has_all(text, {"\"slurm\""})))
    return "the output of sacct --json, which allot import sacct reads";
  return what_objects_are(text);
}

/// A line of numbers as in SWF.
[[nodiscard]] bool is_swf_line(std::string_view line) {
  constexpr std::size_t swf_fields = 18;
  std::size_t fields = 0;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos; ++fields) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    if (line.substr(at, end - at).find_first_not_of("0123456789.-") != std::string_view::npos) return false;
    at = end;
  }
  return fields == swf_fields;
}

/// "JSON: a scenario of allot", or the format alone.
[[nodiscard]] std::string with_format(std::string_view format, std::string_view what) {
  return std::string{format}.append(what.empty() ? "" : ": ").append(what);
}

[[nodiscard]] std::string what_text_is(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (has_all(line, {"JobID", "|"})) return "the output of sacct, which allot import sacct reads";
  if (has_all(line, {"JobID ", "State"}))
    return "the output of sacct for people: print it again with --parsable2 for allot import sacct";
  if (line.front() == ';' || is_swf_line(line)) return "a workload in SWF, which allot import swf reads";
  if (has_all(line, {"job_id", "submit_s", "duration_s", "gpus"}))
    return "a trace of allot, which needs no import";
  if (has_all(line, {"timestamp", "duration", "num_gpus"})) return "a table that allot import philly reads";
  if (has_all(line, {"job_id", "gpu_num", "submit_time", "duration", "type"})) {
    return "a table that allot import acme reads";
  }
  if (has_all(line, {"job_id", "gpu_num", "submit_time", "duration"}))
    return "a table that allot import helios reads";
  if (has_all(line, {"job_name", "gpu_request", "worker_num"})) return "a table that allot import spot reads";
  if (has_all(line, {"job_id", "num_gpu", "submit_time", "duration"}))
    return "a table that allot import pai reads";
  if (has_all(line, {"cpu_milli", "memory_mib", "gpu"})) return "a list that allot import openb reads";
  if (has_all(line, {"machine", "cap_gpu"}) || has_all(line, {"ip", "PSW", "ASW"}))
    return "a list of nodes, which allot import nodes reads";
  const std::string_view objects = what_objects_are(text);
  const bool is_yaml = !objects.empty() || text.starts_with("---") || text.starts_with("- ");
  return is_yaml ? with_format("YAML", objects) : std::string{};
}

}  // namespace

file_look look_of(std::string_view beginning) {
  for (const magic& m : binaries) {
    if (beginning.starts_with(m.bytes)) return {file_kind::other, std::string{m.what}};
  }
  constexpr std::size_t tar_magic_at = 257;
  if (beginning.size() > tar_magic_at && beginning.substr(tar_magic_at, 5) == "ustar") {
    return {file_kind::other, "a tar archive: unpack it, and import the file in it"};
  }
  if (beginning.starts_with("\xEF\xBB\xBF")) beginning.remove_prefix(3);
  const std::size_t first = std::min(beginning.find_first_not_of(" \t\r\n"), beginning.size());
  const std::string_view text = beginning.substr(first);
  if (text.empty()) return {};
  const std::size_t second = std::min(text.find_first_not_of(" \t\r\n", 1), text.size());
  const std::string_view next = text.substr(second, 1);
  // Of an object the first key follows, of a list an object or another value.
  const bool is_json = (text.front() == '{' && (next == "\"" || next == "}")) ||
                       (text.front() == '[' && (next == "{" || next == "]" || next == "["));
  if (is_json) return {file_kind::json, with_format("JSON", what_json_is(text))};
  if (text.front() == '<') return {file_kind::other, "XML, or a web page"};
  return {file_kind::text, what_text_is(text)};
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
