// SPDX-License-Identifier: BSL-1.0
// The reader of the Standard Workload Format, and that of timestamps: any bytes are read or refused, and the
// same however they come.
#include <allot/lab/swf.hpp>
#include <allot/lab/timestamp.hpp>

#include <string>
#include <utility>

#include "tests/fuzz/expect.hpp"

using namespace allot::lab;
using allot_test::expect;
using allot_test::piecewise_source;

namespace {

std::string lines_of(byte_source source) {
  swf_reader r{std::move(source), 1024};
  std::string all;
  std::size_t before = 0;
  for (;;) {
    const swf_reader::outcome o = r.next();
    expect(r.line() >= before, "lines are counted up");
    before = r.line();
    if (o == swf_reader::outcome::end) break;
    if (o == swf_reader::outcome::job) {
      for (const auto& n : r.job().milli) {
        expect(!n || *n >= 0, "what is known is not negative");
        all += n ? std::to_string(*n) + ' ' : "? ";
      }
      all += '\n';
      continue;
    }
    expect(!r.problems().empty(), "there is a reason");
    for (const text_problem& p : r.problems()) all += to_string(p) + '\n';
    if (o == swf_reader::outcome::failed) break;
  }
  for (const auto& h : r.header()) all.append(h.name).append("=").append(h.value).append("\n");
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = allot_test::text_of(data, size);
  expect(lines_of(string_source{text}) == lines_of(piecewise_source{text}),
         "lines do not depend on the pieces");
  if (const auto t = parse_timestamp(text.substr(0, text.find('\n')))) {
    // Offsets may lead beyond the years that can be written.
    constexpr allot::instant first = -62'167'219'200'000;
    constexpr allot::instant last = 253'402'300'799'999;
    if (first <= *t && *t <= last) expect(parse_timestamp(to_timestamp(*t)) == t, "a time is read back");
  }
  return 0;
}
