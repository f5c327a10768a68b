// SPDX-License-Identifier: BSL-1.0
// The values in the columns of Slurm's accounting.
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// How SLURM_TIME_FORMAT made sacct write points in time.
class sacct_times {
 public:
  /// What `--time-format` says. On an error `problem` has what is wrong.
  sacct_times(const std::string& format, std::string& problem);

  /// In milliseconds since 1970 (of local time, unless the format tells the zone). Nothing where Slurm knows
  /// none ("Unknown", "None", 1970), or if it is no such time.
  [[nodiscard]] std::optional<instant> parse(std::string_view text) const;

 private:
  std::string format_;
  std::optional<instant> today_{};
};

/// Whether it is what Slurm writes of a value that it does not know, or that there is none.
[[nodiscard]] bool is_unknown(std::string_view text);

/// "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1", as Slurm writes trackable resources. Amounts
/// are in thousandths.
struct trackable_resources {
  std::int64_t gpus = 0;
  /// Of several types none is the model, nor if some GPUs have none.
  std::string gpu_model{};
  bool has_several_models = false;
  bool has_cpu = false;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t nodes = 0;
  std::int64_t shards = 0;
  std::int64_t mps = 0;
  /// Others that bound what can run together, such as "gres/nic" and "license/matlab".
  vector<std::string> others{};
};
/// Returns nullopt if the text is no such list.
[[nodiscard]] std::optional<trackable_resources> parse_trackable(std::string_view text);

/// The id of a job: "123", "123_4", "123_[5-9%2]", "123+1"; a step has a point in it: "123.batch".
struct sacct_id {
  /// "123"
  std::string_view base{};
  /// "5-9" of what is left of an array.
  std::string_view tasks{};
  /// How many of the array's tasks may run at once; 0: all.
  std::int64_t at_once = 0;
  bool is_step = false;
  bool is_rest_of_array = false;
  bool is_component = false;
};
[[nodiscard]] sacct_id parse_sacct_id(std::string_view text);

/// How many tasks "1-5,9,20-40:5" lists.
struct array_tasks {
  std::size_t count = 0;
  /// False if it is no such list, or breaks off ("1,3,..."): then what could be read is counted.
  bool is_whole = true;
};
[[nodiscard]] array_tasks count_tasks(std::string_view list);
/// Visits each of them by its number.
void for_each_task(std::string_view list, const std::function<void(std::int64_t)>& visit);

/// A state of a job, without what follows ("CANCELLED by 1000").
enum class sacct_state : std::uint8_t {
  /// Ended, in any way, or not told.
  ended,
  /// Taken back while it waited, if it never ran.
  withdrawn,
  running,
  pending,
  /// Preempted, or its node failed. The job waits for another run, or ends with that.
  cut_short,
  /// This run ended, and the job waits for another.
  requeued,
  /// This run ended for one of another size.
  resized,
};
[[nodiscard]] sacct_state parse_sacct_state(std::string_view text);

}  // namespace lab
}  // namespace v0
}  // namespace allot
