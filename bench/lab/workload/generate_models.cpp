// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/generate_models.hpp>

#include <allot/core/assert.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

struct size_weight {
  std::int64_t gpus_milli;
  std::uint64_t weight;
};

// Philly: counts among 82,247 jobs. Durations for 1, 2, 4, 8 and more GPUs.
constexpr std::array<size_weight, 8> philly_sizes = {{{1'000, 76'627},
                                                      {2'000, 1'818},
                                                      {4'000, 1'870},
                                                      {8'000, 1'643},
                                                      {16'000, 213},
                                                      {32'000, 67},
                                                      {64'000, 6},
                                                      {128'000, 3}}};
constexpr std::array<quantile, 10> philly_durations_1 = {{{0, 1 * second},
                                                          {100, 62 * second},
                                                          {250, 122 * second},
                                                          {500, 1'117 * second},
                                                          {750, 2'716 * second},
                                                          {900, 8'512 * second},
                                                          {950, 19'137 * second},
                                                          {990, 135'404 * second},
                                                          {999, 868'927 * second},
                                                          {1000, 3'256'045 * second}}};
constexpr std::array<quantile, 8> philly_durations_2 = {{{0, 2 * second},
                                                         {250, 16 * second},
                                                         {500, 21 * second},
                                                         {750, 76 * second},
                                                         {900, 73'625 * second},
                                                         {950, 197'392 * second},
                                                         {990, 526'030 * second},
                                                         {1000, 2'582'803 * second}}};
constexpr std::array<quantile, 9> philly_durations_4 = {{{0, 3 * second},
                                                         {100, 138 * second},
                                                         {250, 772 * second},
                                                         {500, 17'431 * second},
                                                         {750, 89'422 * second},
                                                         {900, 184'519 * second},
                                                         {950, 274'339 * second},
                                                         {990, 908'661 * second},
                                                         {1000, 2'750'674 * second}}};
constexpr std::array<quantile, 9> philly_durations_8 = {{{0, 1 * second},
                                                         {100, 216 * second},
                                                         {250, 1'871 * second},
                                                         {500, 23'683 * second},
                                                         {750, 173'288 * second},
                                                         {900, 352'409 * second},
                                                         {950, 525'631 * second},
                                                         {990, 1'066'894 * second},
                                                         {1000, 4'628'226 * second}}};
constexpr std::array<quantile, 9> philly_durations_16 = {{{0, 1 * second},
                                                          {100, 69 * second},
                                                          {250, 608 * second},
                                                          {500, 28'475 * second},
                                                          {750, 110'052 * second},
                                                          {900, 252'560 * second},
                                                          {950, 446'126 * second},
                                                          {990, 1'152'387 * second},
                                                          {1000, 1'710'643 * second}}};

// Helios: per mille.
constexpr std::array<size_weight, 8> helios_sizes = {{{1'000, 575},
                                                      {2'000, 120},
                                                      {4'000, 120},
                                                      {8'000, 135},
                                                      {16'000, 30},
                                                      {32'000, 14},
                                                      {64'000, 5},
                                                      {128'000, 1}}};
constexpr std::array<quantile, 10> helios_durations = {{{0, 1 * second},
                                                        {100, 12 * second},
                                                        {250, 45 * second},
                                                        {500, 206 * second},
                                                        {750, 1'200 * second},
                                                        {900, 7'800 * second},
                                                        {970, 36'000 * second},
                                                        {990, 110'000 * second},
                                                        {999, 550'000 * second},
                                                        {1000, 4'320'000 * second}}};

// openb: per mille of the GPU pods scheduled from day 119 on.
constexpr std::array<size_weight, 8> openb_sensitive_sizes = {
    {{370, 1}, {460, 31}, {470, 68}, {650, 60}, {1'000, 825}, {2'000, 4}, {4'000, 4}, {8'000, 7}}};
constexpr std::array<size_weight, 14> openb_best_effort_sizes = {{{50, 3},
                                                                  {110, 6},
                                                                  {160, 27},
                                                                  {220, 21},
                                                                  {230, 29},
                                                                  {320, 119},
                                                                  {370, 22},
                                                                  {470, 86},
                                                                  {550, 27},
                                                                  {590, 27},
                                                                  {650, 6},
                                                                  {810, 428},
                                                                  {1'000, 192},
                                                                  {8'000, 7}}};
constexpr std::array<quantile, 9> openb_sensitive_durations = {{{0, 13 * second},
                                                                {100, 74 * second},
                                                                {250, 307 * second},
                                                                {500, 946 * second},
                                                                {750, 2'639 * second},
                                                                {900, 5'886 * second},
                                                                {950, 11'956 * second},
                                                                {990, 81'414 * second},
                                                                {1000, 2'612'709 * second}}};
constexpr std::array<quantile, 9> openb_best_effort_durations = {{{0, 4 * second},
                                                                  {100, 54 * second},
                                                                  {250, 138 * second},
                                                                  {500, 279 * second},
                                                                  {750, 1'196 * second},
                                                                  {900, 8'595 * second},
                                                                  {950, 21'716 * second},
                                                                  {990, 79'992 * second},
                                                                  {1000, 2'342'233 * second}}};

// Services and sessions: no published trace identifies them, so these are assumptions.
constexpr std::array<std::uint64_t, 8> replica_weights_by_day = {20, 30, 0, 30, 0, 0, 0, 20};
constexpr std::array<size_weight, 4> interactive_sizes = {{{500, 20}, {1'000, 65}, {2'000, 12}, {4'000, 3}}};
constexpr std::array<quantile, 5> interactive_durations = {
    {{0, 5 * minute}, {250, 40 * minute}, {500, 90 * minute}, {750, 3 * hour}, {1000, 9 * hour}}};
constexpr std::uint64_t forgotten_of_hundred = 35;

/// Draws a size of at most `largest`; the smallest of the table if none is that small.
[[nodiscard]] std::int64_t draw_size(random_stream& random, std::span<const size_weight> sizes,
                                     std::int64_t largest) {
  std::uint64_t sum = 0;
  for (const size_weight& s : sizes) sum += s.gpus_milli <= largest ? s.weight : 0;
  if (sum == 0) return sizes.front().gpus_milli;
  std::uint64_t drawn = draw_below(random, sum);
  for (const size_weight& s : sizes) {
    if (s.gpus_milli > largest) continue;
    if (drawn < s.weight) return s.gpus_milli;
    drawn -= s.weight;
  }
  return sizes.front().gpus_milli;
}

[[nodiscard]] std::span<const quantile> philly_durations(std::int64_t gpus_milli) {
  if (gpus_milli <= 1'000) return philly_durations_1;
  if (gpus_milli <= 2'000) return philly_durations_2;
  if (gpus_milli <= 4'000) return philly_durations_4;
  if (gpus_milli <= 8'000) return philly_durations_8;
  return philly_durations_16;
}

constexpr std::array<daily_rhythm, 6> rhythms = {{
    // Philly: submissions by hour, in hundreds, and the ratio of a weekend day to a working day.
    {{44, 34, 38, 38, 24, 40, 57, 72, 38, 34, 35, 30, 26, 24, 22, 22, 30, 23, 27, 25, 35, 31, 39, 35}, 52},
    // Helios: fewest before dawn, with dips at noon and in the evening.
    {{35, 28, 22, 18, 16, 16, 18, 25, 45, 85, 105, 105, 75, 85, 110, 110, 105, 95, 65, 75, 80, 75, 65, 50},
     80},
    // openb, both kinds: pods by hour; the trace does not say which days are weekends.
    {{398, 345, 274, 361, 336, 265, 240, 253, 194, 126, 181, 178,
      134, 117, 107, 146, 251, 356, 435, 380, 300, 348, 316, 400},
     100},
    {{398, 345, 274, 361, 336, 265, 240, 253, 194, 126, 181, 178,
      134, 117, 107, 146, 251, 356, 435, 380, 300, 348, 316, 400},
     100},
    {{10, 10, 10, 10, 10, 20, 50, 100, 140, 150, 130, 110, 90, 90, 90, 90, 80, 60, 40, 30, 20, 15, 10, 10},
     60},
    {{4, 3, 2, 2, 2, 3, 6, 15, 45, 100, 120, 110, 70, 90, 115, 110, 100, 85, 55, 40, 30, 22, 14, 8}, 25},
}};

}  // namespace

const daily_rhythm& rhythm_of(job_model m) {
  return rhythms[static_cast<std::size_t>(m)];
}

job_shape draw_job(random_stream& random, job_model m, std::int64_t largest_milli, instant longest) {
  ALLOT_ASSERT(largest_milli >= 1'000 && longest >= second, "room for a job");
  job_shape shape;
  switch (m) {
    case job_model::philly:
      shape.gpus_milli = draw_size(random, philly_sizes, largest_milli);
      shape.duration = draw_from_quantiles(random, philly_durations(shape.gpus_milli));
      break;
    case job_model::helios:
      shape.gpus_milli = draw_size(random, helios_sizes, largest_milli);
      shape.duration = draw_from_quantiles(random, helios_durations);
      break;
    case job_model::openb_sensitive:
      shape.gpus_milli = draw_size(random, openb_sensitive_sizes, largest_milli);
      shape.duration = draw_from_quantiles(random, openb_sensitive_durations);
      break;
    case job_model::openb_best_effort:
      shape.gpus_milli = draw_size(random, openb_best_effort_sizes, largest_milli);
      shape.duration = draw_from_quantiles(random, openb_best_effort_durations);
      break;
    case job_model::inference: {
      static const weighted_choice choose_replicas{replica_weights_by_day};
      shape.copies = std::min(static_cast<std::int64_t>(choose_replicas(random)) + 1, largest_milli / 1'000);
      shape.duration = draw_log_uniform(random, 3 * hour, 24 * hour);
      break;
    }
    case job_model::interactive:
      shape.gpus_milli = draw_size(random, interactive_sizes, largest_milli);
      shape.duration = draw_from_quantiles(random, interactive_durations);
      if (draw_chance(random, forgotten_of_hundred, 100)) {
        shape.duration += draw_log_uniform(random, 8 * hour, 72 * hour);
      }
      break;
  }
  // Tables are exact to a second. No job ends at the instant at which it begins.
  shape.duration = std::clamp<instant>(shape.duration, second, longest);
  return shape;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
