// SPDX-License-Identifier: BSL-1.0
// How fast traces are read and written: the canonical CSV of a generated workload of 53,069 jobs (the size of
// philly128), of the same with all kinds of optional columns, and with every id quoted. `rows` is per second.
#include <allot/lab/csv.hpp>
#include <allot/lab/generate.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_csv_writer.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace allot::lab;

enum class shape { plain, wide, quoted };

trace make_trace(shape s) {
  uniform_workload w;
  w.jobs = 53'069;
  trace t = generate_uniform(w);
  if (s == shape::quoted) {
    trace quoted;
    quoted.tenants = t.tenants;
    quoted.jobs = t.jobs;
    for (const trace_job& job : t.jobs) quoted.ids.intern("job, \"" + std::string{t.ids[job.id]} + "\"");
    return quoted;
  }
  if (s == shape::wide) {
    t.tag_columns = {"queue"};
    for (trace_job& job : t.jobs) {
      job.job_class = t.words.intern("train").name;
      job.user = t.words.intern("user-" + std::to_string(job.id.index() % 300)).name;
      job.priority = static_cast<std::int64_t>(job.id.index() % 5);
      job.checkpoint = 30 * minute;
      job.restart = minute;
      job.cpu_milli = 8'000;
      job.memory_mib = 65'536;
      t.tags.push_back(job.job_class);
    }
  }
  return t;
}

void report(benchmark::State& state, std::size_t rows, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["rows"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}

void read_trace(benchmark::State& state, shape s) {
  const std::string text = to_csv(make_trace(s));
  std::size_t rows = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const trace_reading reading = parse_trace_csv(text);
    if (!reading) state.SkipWithError("the trace was not read");
    rows = reading.value.jobs.size();
    benchmark::DoNotOptimize(rows);
  }
  report(state, rows, text.size());
}

/// The reader alone, without building a trace.
void read_records(benchmark::State& state, shape s) {
  const std::string text = to_csv(make_trace(s));
  std::size_t rows = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    rows = 0;
    csv_reader reader{string_source{text}};
    while (reader.next() == csv_reader::outcome::record) ++rows;
    benchmark::DoNotOptimize(rows);
  }
  report(state, rows, text.size());
}

void write_trace(benchmark::State& state, shape s) {
  const trace t = make_trace(s);
  std::size_t bytes = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    bytes = to_csv(t).size();
    benchmark::DoNotOptimize(bytes);
  }
  report(state, t.jobs.size(), bytes);
}

BENCHMARK_CAPTURE(read_trace, plain, shape::plain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_trace, wide, shape::wide)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_trace, quoted, shape::quoted)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_records, plain, shape::plain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_records, wide, shape::wide)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_records, quoted, shape::quoted)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_trace, plain, shape::plain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_trace, wide, shape::wide)->Unit(benchmark::kMillisecond);

}  // namespace
