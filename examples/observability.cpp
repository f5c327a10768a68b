// SPDX-License-Identifier: BSL-1.0
//
// What a host exports: the gauges of its quotas in the text format of Prometheus, as GET /metrics returns
// them. Two teams share 16 GPUs and 192 CPUs; training may borrow at most 4 GPUs.
#include <allot/allot.hpp>
#include <allot/core/text.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/scheduler/gauges.hpp>

#include <fmt/core.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using allot::quantity;
using amounts = allot::resources<2>;
using gauges = allot::quota_gauges<2>;

// --- the exporter: it knows nothing of jobs or policies

class exporter {
 public:
  template <class Scheduler>
  std::string metrics(Scheduler& s, const allot::eviction_counts& evictions) const {
    std::vector<gauges> all = allot::gauges_of(s, evictions);
    // `standard` divides nothing in advance; a division gives the entitlements by weight.
    std::vector<amounts> demand(s.tree().slots());
    for (const gauges& g : all) demand[g.quota.index()] = g.used + g.requested;
    allot::division<2> due;
    due.update(s.ledger(), demand);
    for (gauges& g : all) g.entitled = due.entitled(g.quota);

    std::string text;
    const auto family = [&](const char* name, const char* type, const char* help) {
      text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
    };
    const auto quota = [&](const gauges& g) { return escaped(s.tree().name(g.quota)); };
    const auto by_resource = [&](const char* name, const char* help, amounts gauges::*member) {
      family(name, "gauge", help);
      for (const gauges& g : all) {
        for (std::size_t d = 0; d < resources_.size(); ++d) {
          text += fmt::format("{}{{quota=\"{}\",resource=\"{}\"}} {}\n", name, quota(g),
                              escaped(resources_[d]), number((g.*member)[d]));
        }
      }
    };
    by_resource("allot_quota_nominal", "What the quota is guaranteed.", &gauges::nominal);
    by_resource("allot_quota_used", "What the jobs of the quota use.", &gauges::used);
    by_resource("allot_quota_borrowed", "The part of it that other quotas own.", &gauges::borrowed);
    by_resource("allot_quota_lent", "What jobs of other quotas use of its own.", &gauges::lent);
    by_resource("allot_quota_entitled", "Its fair share of the capacity.", &gauges::entitled);
    by_resource("allot_quota_requested", "What its waiting jobs request.", &gauges::requested);
    // Every series is there from the start: one that appears with a 1 shows no increase.
    family("allot_quota_waiting_jobs", "gauge", "Jobs that wait, by reason.");
    for (const gauges& g : all) {
      for (std::size_t r = 0; r < g.waiting.size(); ++r) {
        const auto reason = static_cast<allot::pending_reason>(r);
        if (reason == allot::pending_reason::not_waiting) continue;
        text += fmt::format("allot_quota_waiting_jobs{{quota=\"{}\",reason=\"{}\"}} {}\n", quota(g),
                            to_string(reason), g.waiting[r]);
      }
    }
    family("allot_quota_evictions_total", "counter", "Evictions of its jobs, by cause.");
    for (const gauges& g : all) {
      for (std::size_t r = 0; r < g.evictions.size(); ++r) {
        text += fmt::format("allot_quota_evictions_total{{quota=\"{}\",cause=\"{}\"}} {}\n", quota(g),
                            to_string(static_cast<allot::relation>(r)), g.evictions[r]);
      }
    }
    return text;
  }

 private:
  static std::string number(quantity q) {
    if (q.is_bounded()) return to_string(q);
    return q.is_unlimited() ? "+Inf" : "-Inf";
  }
  static std::string escaped(std::string_view label) {
    std::string text;
    for (const char c : label) {
      if (c == '\\' || c == '"') text += '\\';
      c == '\n' ? text += "\\n" : text += c;
    }
    return text;
  }

  const allot::dimension_names<2> resources_{"gpu", "cpu"};
};

// --- the host

struct job {
  const char* name;
  allot::quota_id team;
  int gpus;
  int cpus;
};
struct jobs_view {
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  amounts request(job j) const { return {allot::gpus(j->gpus), quantity::whole(j->cpus)}; }
  int priority(job) const { return 0; }
};

}  // namespace

int main() {
  const auto of = [](int gpus, int cpus) { return amounts{allot::gpus(gpus), quantity::whole(cpus)}; };
  auto lab = allot::make_scheduler(allot::standard{}, jobs_view{},
                                   {{.name = "lab"},
                                    {.name = "training",
                                     .parent = "lab",
                                     .nominal = of(8, 96),
                                     .borrow = {allot::limit::at_most(allot::gpus(4)), allot::limit::all()}},
                                    {.name = "serving", .parent = "lab", .nominal = of(8, 96)}})
                 .value();
  const auto training = lab.tree().find("training"), serving = lab.tree().find("serving");
  const std::deque<job> jobs{{"pretrain", training, 8, 64},
                             {"finetune", training, 4, 40},
                             {"sweep", training, 2, 8},
                             {"chat", serving, 6, 48}};
  allot::eviction_counts evictions;
  for (const job& j : jobs) {
    if (!lab.submit(&j)) return 1;
    evictions.note(lab.step(0));
  }
  // finetune has not left yet: it still uses what chat waits for.
  fmt::print("{}", exporter{}.metrics(lab, evictions));
}
