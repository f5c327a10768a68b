// SPDX-License-Identifier: BSL-1.0
#include "let_go.hpp"

#include "comments.hpp"
#include "governor/src/log.hpp"

namespace allot_slurm {

std::string let_go_result::text() const {
  std::string all = std::to_string(changed) + (changed == 1 ? " job" : " jobs") + " let go, " +
                    std::to_string(released) + " of them released";
  if (stay_held > 0) all += "; " + std::to_string(stay_held) + " stay held, not by the governor";
  if (unmarked > 0) {
    all += "; " + std::to_string(unmarked) +
           " are held without a mark of the governor: --unmarked releases these, too";
  }
  if (failed > 0) all += "; " + std::to_string(failed) + " failed: try again";
  return all;
}

let_go_result let_go(const config& c, const std::vector<job>& jobs, cluster& slurm, bool unmarked,
                     const std::function<void(const std::string&)>& say) {
  let_go_result result;
  std::vector<job> each;
  for (const job& j : jobs) each.insert(each.end(), parts_of(j).begin(), parts_of(j).end());
  for (const job& j : each) {
    if (j.state == run_state::ended || !c.governs(j.partition)) continue;
    const bool waits = j.state == run_state::pending || j.is_requeued;
    const bool is_held = waits && j.is_held;
    const bool is_marked = j.admin_comment.starts_with(comment_mark);
    comments change;
    std::string done;
    const auto add = [&](const std::string& what) { done.append(done.empty() ? "" : ", ").append(what); };
    if (is_marked) change.admin = "";
    const std::string held = held_by(j);
    if (j.comment.starts_with(comment_mark)) {
      // Behind the mark of its user's hold is that user's own.
      const std::size_t own = j.comment.starts_with(held_mark) ? j.comment.find("; ") : std::string::npos;
      change.user = own == std::string::npos ? "" : j.comment.substr(own + 2);
    }
    if (change.admin || change.user) add("comments emptied");
    if (waits && !pinned_nodes(j).empty()) {
      change.required = "";
      add("no longer pinned to " + j.required_nodes);
    }
    if (const std::string avoided = avoided_nodes(j); waits && !avoided.empty()) {
      change.excluded = own_exclusions(j);
      add("no longer kept away from " + avoided);
    }
    const bool is_held_by_others = is_held && !held.empty();
    const bool releases = is_held && !is_held_by_others && (is_marked || unmarked);
    if (releases) add("released");
    if (is_held_by_others) {
      ++result.stay_held;
      add("stays held, not by the governor");
    }
    if (is_held && !is_marked && !unmarked) ++result.unmarked;
    if (done.empty()) continue;
    const outcome o = releases ? slurm.let_go(j, change) : slurm.comment(j, change);
    if (o) {
      ++result.changed;
      if (releases) ++result.released;
    } else {
      ++result.failed;
      done = "failed: " + o.text;
    }
    say(slurm_name(j) + " of " + escaped(j.user) + ": " + done);
  }
  return result;
}

}  // namespace allot_slurm
