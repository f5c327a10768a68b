// SPDX-License-Identifier: BSL-1.0
#include "lab/report/timeline_log.hpp"

#include "lab/io/time_text.hpp"
#include "lab/report/result_files.hpp"

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// "2 GPUs", "0.5 GPU", "16 cpu".
std::string amount_of(std::int64_t milli, std::string_view resource) {
  std::string text = decimal(milli);
  if (resource != "gpu") return text.append(" ").append(resource);
  return text += milli == 1000 || (milli > 0 && milli < 1000) ? " GPU" : " GPUs";
}

std::string sentence_of_obstacle(const wait_reason& why, std::string_view at, std::string_view resource) {
  using kind = wait_reason::kind;
  const std::string quota{at.empty() ? "the cluster" : at};
  const std::string amount = amount_of(why.amount, resource);
  switch (why.what) {
    case kind::capacity:
      return "all of " + quota + " is in use, " + amount + " short";
    case kind::borrow_limit:
      return "borrow limit of " + quota + ", " + amount + " short";
    case kind::nominal:
      return quota + " has used what it owns and may not borrow, " + amount + " short";
    case kind::guarantee:
      return "not preemptible, and what " + quota + " owns is in use, " + amount + " short";
    case kind::backoff:
      return quota + " was reclaimed, and does not borrow " + std::string{resource} + " again yet";
    case kind::full:
      return why.amount == 0 ? "no GPU is free" : "only " + amount + " free";
    case kind::fragmented:
      return "enough is free, but at most " + amount + " together";
    case kind::host_full:
      return "there are free GPUs, but no CPU or memory beside them";
    case kind::no_domain:
      return "there is room, but not for all its pods close together";
    case kind::no_such_node:
      return "no node that it may run on could hold it";
    case kind::behind_head:
      return "behind the first of its queue, which does not fit";
    case kind::waits_turn:
      return "there is room, but its turn has not come";
    case kind::not_ready:
      return "not ready before " + clock_time(why.amount);
  }
  return {};
}

}  // namespace

std::string sentence(const wait_reason& why, std::string_view at, std::string_view resource,
                     std::string_view nodes) {
  std::string text = sentence_of_obstacle(why, at, resource);
  if (why.spares_others) text += "; could preempt, but others would lose too much work";
  if (why.preempts_later) text += "; no job is evicted for it yet";
  if (why.by == without_end) return text;
  text += (why.gathers ? "; gathers what becomes free until " : "; starts by ") + clock_time(why.by);
  if (!nodes.empty()) text.append(", as planned now on ").append(nodes);
  return text;
}

std::uint32_t timeline_log::number_of_nodes(const std::string& text) {
  if (text.empty()) return 0;
  const auto [at, is_new] =
      numbers_of_nodes_.try_emplace(text, static_cast<std::uint32_t>(nodes_.size() + 1));
  if (is_new) nodes_.push_back(text);
  return at->second;
}

void timeline_log::begin(instant now) {
  origin_ = now;
  // At no time are there more moments than `most_`, so there are too many spans of a width if even the
  // expected looks alone are in more.
  vector<instant> firsts;
  instant next = now;
  for (const instant t : std::exchange(expected_, {})) {
    if (t < next) continue;
    firsts.push_back(t);
    while (firsts.size() > most_) {
      least_width_ *= 2;
      const auto same = [this](instant a, instant b) {
        return (a - origin_) / least_width_ == (b - origin_) / least_width_;
      };
      firsts.erase(std::unique(firsts.begin(), firsts.end(), same), firsts.end());
    }
    next = t - (t - origin_) % least_width_ + least_width_;
  }
}

void timeline_log::widen() {
  width_ *= 2;
  const auto same = [this](const moment& a, const moment& b) { return span_of(a.at) == span_of(b.at); };
  moments_.erase(std::unique(moments_.begin(), moments_.end(), same), moments_.end());
}

void timeline_log::thin_out() {
  while (moments_.size() > most_ / 2) widen();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
