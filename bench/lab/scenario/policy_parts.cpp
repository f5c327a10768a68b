// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/policy_parts.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/placement/placement_name.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The names of the enumerators, in their order, each with what it means.
template <class Name>
[[nodiscard]] vector<named_part> named(std::initializer_list<std::string_view> summaries) {
  vector<named_part> names;
  for (const std::string_view summary : summaries) {
    names.push_back({to_string(static_cast<Name>(names.size())), summary});
  }
  return names;
}

template <auto Part>
void choose(named_parts& parts, std::size_t i) {
  using name = typename std::remove_reference_t<decltype(parts.*Part)>::value_type;
  parts.*Part = static_cast<name>(i);
}

}  // namespace

const vector<part_kind>& settable_parts() {
  static const vector<part_kind> kinds{
      {"surplus", "how the surplus is divided",
       named<surplus_name>({"in proportion to the weights", "in proportion to what the quotas own",
                            "quotas of higher priority first, those of one priority by weight",
                            "no division: first come, first served",
                            "less to quotas that have used more; older usage counts less",
                            "a parent's own jobs are one more child",
                            "to the quota with the smallest part of its guarantee",
                            "by weight, up to what is wanted (Armada)"}),
       choose<&named_parts::surplus>},
      {"rounding", "of shares to whole units",
       named<rounding_name>({"more GPUs never cost a quota one",
                             "the largest remainders are rounded up (KAI)", "exact to a thousandth"}),
       choose<&named_parts::rounding>},
      {"queue_order", "whose turn it is",
       named<quota_order_name>(
           {"the lowest weighted share of what could be borrowed (Kueue)",
            "the lowest weighted share of everything (DRF)",
            "the quota with the smallest part of its entitlement", "by rank in the tree (Slurm)",
            "quotas within their nominal first", "the highest priority among the first jobs",
            "the first job that was submitted first", "as if all jobs were in one queue"}),
       choose<&named_parts::queue_order>},
      {"victim_order", "which job is preempted first",
       named<victim_order_name>({"lowest priority, then the quota with the highest share, then newest",
                                 "the job that started last", "the job that loses the least work"}),
       choose<&named_parts::victim_order>},
      {"guard", "when it is fair to take from another quota",
       named<guard_name>({"whenever the rules of preemption allow it",
                          "when the other quota keeps at least the share that the beneficiary's reaches",
                          "when the other quota's share is larger than the beneficiary's will be",
                          "by the first of these, or else by the second",
                          "when the other quota has a larger part of its entitlement"}),
       choose<&named_parts::guard>},
      {"placement", "on which nodes jobs are placed",
       named<gpu::placement_name>(
           {"where the fewest GPUs are left", "where most is left of the GPUs: spread",
            "on the first node with room", "on any node with room, by the seed",
            "on GPUs, then nodes, that are used already", "beside pods of the same kind",
            "where little is left of what is requested most (Tetris, as FGD's paper has it)",
            "where least is left of CPU and GPUs (BestFit of FGD's paper)",
            "where least becomes a fragment for the jobs of the scenario",
            "beside jobs that are expected to end at about the same time"}),
       [](named_parts&, std::size_t) {}}};
  return kinds;
}

namespace {

/// Sets a member of a preset, which any other preset leaves as it is.
template <auto Member>
void set_option(any_preset& to, std::int64_t value) {
  to.visit([&](auto& preset) {
    if constexpr (requires { preset.*Member; }) {
      using option = std::remove_reference_t<decltype(preset.*Member)>;
      if constexpr (std::is_same_v<option, std::optional<std::uint32_t>>) {
        preset.*Member = static_cast<std::uint32_t>(value);
      } else {
        preset.*Member = static_cast<option>(value);
      }
    }
  });
}

}  // namespace

const vector<preset_option>& options_of_presets() {
  using kind = option_kind;
  static const vector<std::string_view> order_words{"queue", "shortest_estimate", "aged"};
  static const std::string_view jobs_without =
      "\"queue\", \"shortest_estimate\" or \"aged\" (short and large ones first, until others have waited "
      "long "
      "enough): the order of the jobs that hold none";
  static const vector<preset_option> options{
      {"hyperpod",
       "idle",
       "\"fcfs\" or \"fair_share\": how idle capacity is given",
       kind::word,
       &set_option<&hyperpod::idle>,
       {"fcfs", "fair_share"}},
      {"hyperpod",
       "tasks",
       "\"fcfs\" or \"ranking\": the order of the jobs of a team",
       kind::word,
       &set_option<&hyperpod::tasks>,
       {"fcfs", "ranking"}},
      {"kueue", "preserve_scan_progress",
       "whether a head that is passed over goes on with its next flavor (as in Kueue 0.20)", kind::boolean,
       &set_option<&kueue::preserve_scan_progress>},
      {"kueue", "recompute_overlaps",
       "whether a head whose victims another one takes looks for others at once (as in Kueue 0.19)",
       kind::boolean, &set_option<&kueue::recompute_overlaps>},
      {"kueue_fair", "preserve_scan_progress", "as in kueue", kind::boolean,
       &set_option<&kueue_fair::preserve_scan_progress>},
      {"kueue_fair", "recompute_overlaps", "as in kueue", kind::boolean,
       &set_option<&kueue_fair::recompute_overlaps>},
      {"kueue_fair", "float_shares", "whether shares are rounded as Kueue's floating-point numbers are",
       kind::boolean, &set_option<&kueue_fair::float_shares>},
      {"kueue_fair",
       "strategies",
       "a list of \"final_share\" and \"initial_share\", tried in order",
       kind::strategies,
       &set_option<&kueue_fair::strategies>,
       {"final_share", "initial_share"}},
      {"runai", "k", "how much past use counts against a quota; 0: not at all", kind::milli,
       &set_option<&runai::k>},
      {"runai", "half_life_s", "after how long use counts half; 0: it never fades", kind::milli,
       &set_option<&runai::half_life>},
      {"runai", "window_s", "how long use counts at all", kind::milli, &set_option<&runai::window>},
      {"runai",
       "round_s",
       "with k: how often shares follow past use when nothing else happens; at least 1",
       kind::milli,
       &set_option<&runai::period>,
       {},
       1000},
      {"runai", "float_sums", "whether a gang's parts of GPUs are added in floating point, as KAI does",
       kind::boolean, &set_option<&runai::float_sums>},
      {"standard", "reservations",
       "how many jobs of a quota hold a reservation at once (3); \"all\"; 0: none", kind::count,
       &set_option<&standard::reservations>},
      {"standard", "borrow_backoff_s",
       "for how long a quota does not borrow what was reclaimed from it, at first; 0: not at all",
       kind::milli, &set_option<&standard::first_backoff>},
      {"standard", "longest_backoff_s", "the same at most, after it was reclaimed again and again",
       kind::milli, &set_option<&standard::longest_backoff>},
      {"standard", "gather_s",
       "how long a job gathers capacity whose start is not known, as jobs without an estimate are in its "
       "way; "
       "0: not at all",
       kind::milli, &set_option<&standard::gather>},
      {"standard", "strict_after_s",
       "from that age on a job within what its quota owns is not passed any more; 0: it may be passed for "
       "ever",
       kind::milli, &set_option<&standard::strict_after>},
      {"standard", "preempt_after_s",
       "nothing is evicted for a job that has waited less than that; 0: it preempts at once", kind::milli,
       &set_option<&standard::preempt_after>},
      {"standard", "backfill", jobs_without, kind::word, &set_option<&standard::backfill>, order_words},
      {"easy",
       "reservations",
       "how many jobs hold a reservation at once; \"all\"",
       kind::count,
       &set_option<&easy::reservations>,
       {},
       1},
      {"easy", "backfill", jobs_without, kind::word, &set_option<&easy::backfill>, order_words},
      {"runai",
       "saturation_multiplier",
       "how much more of its share a victim must have; at least 1",
       kind::milli,
       &set_option<&runai::saturation_multiplier>,
       {},
       1000}};
  return options;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
