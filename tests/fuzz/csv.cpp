// SPDX-License-Identifier: BSL-1.0
// The readers of CSV: any bytes are read or refused with a place that is in the text, the same however they
// come, and a trace that is read is the same once it is written and read again.
#include <allot/lab/openb_csv.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_csv_writer.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/expect.hpp"

using namespace allot::lab;
using allot_test::expect;
using allot_test::piecewise_source;

namespace {

template <class Problems>
std::string told(const Problems& problems) {
  std::string all;
  for (const text_problem& p : problems) all += to_string(p) + '\n';
  return all;
}

void expect_places(const std::vector<text_problem>& problems, std::string_view text) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const text_problem& p : problems) {
    expect(p.place.line >= 1 && p.place.line <= lines, "the line of a problem is in the text");
    expect(p.place.column >= 1 && p.place.column <= text.size() + 1,
           "the column of a problem is in the text");
    expect(!p.text.empty(), "a problem has a text");
  }
}

std::string records_of(byte_source source) {
  csv_reader csv{std::move(source), 4096};
  std::string all;
  while (csv.next() == csv_reader::outcome::record) {
    for (std::size_t i = 0; i < csv.size(); ++i) append_csv_field(all += i == 0 ? "" : ",", csv.text(i));
    all += '\n';
  }
  if (csv.next() == csv_reader::outcome::failed) all += to_string(csv.problem());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = allot_test::text_of(data, size);
  expect(records_of(string_source{text}) == records_of(piecewise_source{text}),
         "records do not depend on the pieces");

  const trace_reading reading = parse_trace_csv(text, {4096, 20});
  expect_places(reading.problems, text);
  const trace_reading again = read_trace_csv(piecewise_source{text}, {4096, 20});
  expect(told(reading.problems) == told(again.problems), "problems do not depend on the pieces");
  if (reading) {
    const std::string written = to_csv(reading.value);
    const trace_reading reread = parse_trace_csv(written);
    // A tag whose name or field would be a record of its own exceeds the limit only when it is quoted.
    expect(static_cast<bool>(reread), "what is written can be read");
    expect(to_csv(reread.value) == written, "what is written is the same when it is read and written again");
    expect(reread.value.jobs.size() == reading.value.jobs.size(), "no job is lost");
  }

  const auto nodes = read_openb_nodes(text, {4096, 20});
  expect_places(nodes.problems, text);
  expect(nodes.problems.empty() || nodes.values.empty(), "there are nodes or problems");
  const auto pods = read_openb_pods(text, {4096, 20});
  expect_places(pods.problems, text);
  for (const openb_pod& pod : pods.values) {
    expect(!pod.name.empty() && pod.gpu_milli <= 1000 && pod.cpu_milli >= 0, "a pod that was read is good");
    expect(!pod.deletion_s || !pod.creation_s || *pod.deletion_s >= *pod.creation_s, "times are in order");
  }
  return 0;
}
