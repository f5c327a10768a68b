// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/policy_parts.hpp"

#include <allot/core/vector.hpp>
#include <allot/systems/by_name.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace lab {

/// The names are in the order of the enumerations in systems/named_parts.hpp and
/// gpu/placement/placement_name.hpp.
const vector<part_kind>& settable_parts() {
  static const vector<part_kind> kinds{
      {"surplus",
       "how the surplus is divided",
       {{"weight", "in proportion to the weights"},
        {"quota", "in proportion to what the quotas own"},
        {"priority", "quotas of higher priority first, those of one priority by weight"},
        {"first_come", "no division: first come, first served"},
        {"decayed_usage", "less to quotas that have used more; older usage counts less"},
        {"parent_as_peer", "a parent's own jobs are one more child"},
        {"most_under_served", "to the quota with the smallest part of its guarantee"},
        {"capped", "by weight, up to what is wanted (Armada)"}},
       [](named_parts& p, std::size_t i) { p.surplus = static_cast<surplus_name>(i); }},
      {"rounding",
       "of shares to whole units",
       {{"webster", "more GPUs never cost a quota one"},
        {"largest_remainder", "the largest remainders are rounded up (KAI)"},
        {"none", "exact to a thousandth"}},
       [](named_parts& p, std::size_t i) { p.rounding = static_cast<rounding_name>(i); }},
      {"queue_order",
       "whose turn it is",
       {{"borrowed_share", "the lowest weighted share of what could be borrowed (Kueue)"},
        {"dominant_share", "the lowest weighted share of everything (DRF)"},
        {"saturation", "the quota with the smallest part of its entitlement"},
        {"fair_tree", "by rank in the tree (Slurm)"},
        {"under_nominal", "quotas within their nominal first"},
        {"priority", "the highest priority among the first jobs"},
        {"submission", "the first job that was submitted first"},
        {"best_job", "as if all jobs were in one queue"}},
       [](named_parts& p, std::size_t i) { p.queue_order = static_cast<quota_order_name>(i); }},
      {"victim_order",
       "which job is preempted first",
       {{"priority_share", "lowest priority, then the quota with the highest share, then newest"},
        {"newest", "the job that started last"},
        {"lost_work", "the job that loses the least work"}},
       [](named_parts& p, std::size_t i) { p.victim_order = static_cast<victim_order_name>(i); }},
      {"guard",
       "when it is fair to take from another quota",
       {{"none", "whenever the rules of preemption allow it"},
        {"final_share", "when the other quota keeps at least the share that the beneficiary's reaches"},
        {"initial_share", "when the other quota's share is larger than the beneficiary's will be"},
        {"final_then_initial", "by the first of these, or else by the second"},
        {"saturation", "when the other quota has a larger part of its entitlement"}},
       [](named_parts& p, std::size_t i) { p.guard = static_cast<guard_name>(i); }},
      {"placement",
       "on which nodes jobs are placed",
       {{"best_fit", "where the fewest GPUs are left"},
        {"worst_fit", "where most is left of the GPUs: spread"},
        {"first_fit", "on the first node with room"},
        {"random", "on any node with room, by the seed"},
        {"gpu_packing", "on GPUs, then nodes, that are used already"},
        {"gpu_clustering", "beside pods of the same kind"},
        {"dot_product", "where little is left of what is requested most (Tetris, as FGD's paper has it)"},
        {"vector_best_fit", "where least is left of CPU and GPUs (BestFit of FGD's paper)"},
        {"fgd", "where least becomes a fragment for the jobs of the scenario"},
        {"lifetime_alignment", "beside jobs that are expected to end at about the same time"}},
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
      {"kueue_fair", "preserve_scan_progress", "the same", kind::boolean,
       &set_option<&kueue_fair::preserve_scan_progress>},
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
