// SPDX-License-Identifier: BSL-1.0
// The story of a job, for people and for programs.
#include "lab/decide/explain_job.hpp"
#include "lab/io/terminal.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/text_table.hpp>

#include <fmt/core.h>

#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using fate = job_story::fate;

[[nodiscard]] std::string_view word_of(fate is) noexcept {
  constexpr std::string_view words[] = {"refused", "pending", "reserved", "admitted",
                                        "running", "evicted", "evicting"};
  return words[static_cast<std::size_t>(is)];
}

[[nodiscard]] std::string shown(const amounts& all, const scenario& s) {
  std::string text;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (all[d] == quantity{}) continue;
    text += (text.empty() ? "" : ", ") + to_string(all[d]) + ' ' + s.resources[d];
  }
  return text.empty() ? "nothing" : text;
}

template <class List>
[[nodiscard]] std::string joined(const List& all, std::string_view between = ", ") {
  std::string text;
  for (const auto& one : all) text.append(text.empty() ? "" : between).append(one);
  return text;
}

/// Adjacent duplicates once, with their number: "dgx-0 x 2, dgx-1".
[[nodiscard]] std::string joined_nodes(const vector<std::string>& nodes) {
  vector<std::string> parts;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i;
    while (end < nodes.size() && nodes[end] == nodes[i]) ++end;
    parts.push_back(nodes[i] + (end - i > 1 ? " x " + std::to_string(end - i) : ""));
    i = end;
  }
  return joined(parts);
}

[[nodiscard]] std::string shown(const ratio& share) {
  return share.is_infinite() ? "unbounded" : fmt::format("{:.3f}", share.approximate());
}

/// The resources that concern the job.
[[nodiscard]] vector<std::size_t> dimensions_of(const job_story& t, const scenario& s) {
  vector<std::size_t> all;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (t.request[d] != quantity{}) all.push_back(d);
  }
  if (all.empty()) all.push_back(0);
  return all;
}

class text_writer {
 public:
  text_writer(const job_story& t, const scenario& s) : t_(t), s_(s) {}

  [[nodiscard]] std::string write() && {
    headline();
    if (t_.is == fate::refused) return std::move(out_);
    ask();
    if (t_.is == fate::waits) wait();
    if (t_.is == fate::runs && t_.yielding_pods > 0) {
      line(fmt::format("{} of its pods {} to go{}{}: {}.", t_.yielding_pods,
                       t_.yielding_pods == 1 ? "has" : "have", t_.beneficiary.empty() ? "" : " for ",
                       t_.beneficiary, t_.why));
    }
    if (t_.is == fate::yields || (t_.is == fate::runs && t_.yielding_pods > 0)) yield();
    if (t_.is == fate::starts || t_.is == fate::runs) capacity();
    shares();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.append("  ").append(printable(text)).append("\n"); }

  void headline() {
    const std::string who = fmt::format("{} ({})", t_.id, t_.quota);
    switch (t_.is) {
      case fate::refused:
        out_ = fmt::format("{} is refused: {}.\n", who, t_.why);
        break;
      case fate::waits:
        out_ = fmt::format("{} waits: {}.\n", who, t_.why);
        break;
      case fate::nominated:
        out_ = fmt::format("{} is next: it starts when {} {} gone.\n", who, joined(t_.victims),
                           t_.victims.size() == 1 ? "has" : "have");
        break;
      case fate::starts:
        out_ = fmt::format("{} starts{}.\n", who, where());
        break;
      case fate::runs:
        out_ = fmt::format("{} runs{}.\n", who, where());
        break;
      case fate::yields:
        out_ = t_.beneficiary.empty()
                   ? fmt::format("{} is evicted: {}.\n", who, t_.why)
                   : fmt::format("{} is evicted for {}: {}.\n", who, t_.beneficiary, t_.why);
        break;
      case fate::leaving:
        out_ = fmt::format("{} is being evicted and still holds its share.\n", who);
        break;
    }
    out_.pop_back();
    out_ = printable(out_) + '\n';
  }
  [[nodiscard]] std::string where() const { return t_.nodes.empty() ? "" : " on " + joined_nodes(t_.nodes); }

  void ask() {
    const bool has_it = t_.is != fate::waits && t_.is != fate::nominated;
    std::string text = fmt::format("It {} {}", has_it ? "has" : "asks for", shown(t_.request, s_));
    if (t_.most_pods > 1) {
      text += fmt::format(" with {} of at most {} pods", t_.pods, t_.most_pods);
      if (t_.pods == t_.most_pods)
        text =
            fmt::format("It {} {} with {} pods", has_it ? "has" : "asks for", shown(t_.request, s_), t_.pods);
    }
    for (const std::string& need : t_.needs) text += ", " + need;
    vector<std::string> flavors;
    for (const flavor_name& f : t_.flavors) flavors.push_back(fmt::format("{} as {}", f.resource, f.flavor));
    if (!flavors.empty()) text += " (" + joined(flavors) + ")";
    if (!t_.preemptible) text += "; it can't be preempted";
    line(text + ".");
    for (const pods_of_set& s : t_.pod_sets) {
      text = fmt::format("Of pod set {}: {} pod{}", s.name, s.pods, s.pods == 1 ? "" : "s");
      for (const flavor_name& f : s.flavors) text += fmt::format(", {} as {}", f.resource, f.flavor);
      vector<std::string> nodes;
      for (const std::string_view node : s.nodes) nodes.emplace_back(node);
      if (!nodes.empty()) text += ", on " + joined_nodes(nodes);
      line(text + ".");
    }
  }

  void wait() {
    // The headline already has the first one, unless something else blocks the job.
    for (const job_story::lack& l : t_.lacks) {
      if (t_.why.compare(0, l.text.size(), l.text) == 0 && (l.flavors.empty() || &l == &t_.lacks.front()))
        continue;
      line((l.flavors.empty() ? "Also: " : "With " + l.flavors + ": ") + l.text + ".");
    }
    if (t_.reservation) {
      std::string text = t_.reservation->text;
      text.front() = text.front() == 'i' ? 'I' : 'W';
      line(text + ".");
    }
    if (!t_.behind.empty()) line(fmt::format("It waits behind {}.", t_.behind));
    if (t_.reason == "not_proven")
      line("It was not proven that no other jobs could be evicted for it: the search was given up.");
    if (t_.remedies.empty()) return;
    out_ += "It would be admitted if\n";
    bool any = false;
    for (const job_story::remedy& r : t_.remedies) {
      if (!r.admits) continue;
      any = true;
      line(fmt::format("- {}{}", r.text, r.remark.empty() ? "" : " (" + r.remark + ')'));
    }
    if (!any) line("- nothing that was tried");
    for (const job_story::remedy& r : t_.remedies) {
      if (r.admits) continue;
      line(fmt::format("but not yet if {}{}", r.text, r.remark.empty() ? "" : ": " + r.remark));
    }
  }

  void yield() {
    switch (t_.rule.rule) {
      case fairness_rule::none:
        break;
      case fairness_rule::final_share:
        line(fmt::format("That is fair: {} would have a share of {}, and {} still has {}.",
                         beneficiary_quota(), shown(t_.rule.beneficiary), t_.quota, shown(t_.rule.victim)));
        break;
      case fairness_rule::initial_share:
        line(fmt::format("That is fair: {} would have a share of {}, and {} had {}.", beneficiary_quota(),
                         shown(t_.rule.beneficiary), t_.quota, shown(t_.rule.victim)));
        break;
      case fairness_rule::saturation:
        line(fmt::format("That is fair: {} would use {} of what it is owed, and {} then uses {}.",
                         beneficiary_quota(), shown(t_.rule.beneficiary), t_.quota, shown(t_.rule.victim)));
        break;
    }
    if (!t_.of_victim || !t_.of_beneficiary) return;
    const auto side = [&](const job_story::share& x) {
      std::string text =
          fmt::format("{} owned {}, used {}", x.quota, shown(x.nominal, s_), shown(x.used, s_));
      return text + " and had a borrowed share of " + shown(x.borrowed_share);
    };
    line("Before that, " + side(*t_.of_victim) + ";");
    line(side(*t_.of_beneficiary) + ".");
  }

  [[nodiscard]] std::string_view beneficiary_quota() const {
    return t_.of_beneficiary ? t_.of_beneficiary->quota : std::string_view{t_.beneficiary};
  }

  void capacity() {
    if (!t_.victims.empty()) line("Evicted for it: " + joined(t_.victims) + ".");
    if (t_.loans.empty()) {
      line(fmt::format("{} uses only what it owns.", t_.quota));
    } else {
      vector<std::string> parts;
      for (const job_story::loan& l : t_.loans) {
        parts.push_back(fmt::format("{} {} of {}", to_string(l.amount), l.resource, l.from));
      }
      line(fmt::format("{} uses more than it owns: {}.", t_.quota, joined(parts)));
    }
    if (!t_.preemptible) return;
    if (t_.yields_to.empty()) return line("By the rules of the quotas no job may preempt it.");
    vector<std::string> claims;
    for (const job_story::claim& c : t_.yields_to) claims.push_back(c.text);
    line("It may have to yield to " + joined(claims, "; ") + ".");
  }

  void shares() {
    if (t_.shares.empty()) return;
    for (const std::size_t d : dimensions_of(t_, s_)) {
      out_ += fmt::format("The shares of {}:\n", s_.resources[d]);
      text_table table{{"", "owns", "uses", "is owed", "borrows", "weight", "borrowed share"}};
      for (const job_story::share& x : t_.shares) {
        table.add({std::string{x.quota} + (x.is_own ? " *" : ""), to_string(x.nominal[d]),
                   to_string(x.used[d]), to_string(x.entitled[d]), to_string(x.borrowed[d]),
                   to_string(quantity::milli(x.weight_milli)), shown(x.borrowed_share)});
      }
      out_ += table.text();
    }
  }

  const job_story& t_;
  const scenario& s_;
  std::string out_;
};

class data_writer {
 public:
  data_writer(const job_story& t, const scenario& s) : t_(t), s_(s) {}

  [[nodiscard]] std::string write() && {
    out_.begin_object().member("format", "allot-explanation/1");
    out_.member("id", t_.id).member("quota", t_.quota).member("state", word_of(t_.is));
    out_.member("why", t_.why);
    amounts_of("request", t_.request);
    out_.member("pods", t_.pods).member("most_pods", t_.most_pods).member("preemptible", t_.preemptible);
    if (!t_.needs.empty()) {
      out_.key("needs").begin_array();
      for (const std::string& need : t_.needs) out_.value(need);
      out_.end_array();
    }
    write_flavors(out_, t_.flavors);
    names("nodes", t_.nodes);
    lab::write(out_, t_.pod_sets);
    out_.key("lacks").begin_array();
    for (const job_story::lack& l : t_.lacks) {
      out_.begin_object().member("at", l.at).member("limit", l.limit);
      text_or_null("resource", l.resource);
      out_.key("short_by");
      l.resource.empty() ? out_.null() : out_.value(l.short_by);
      text_or_null("flavors", l.flavors);
      if (!l.pod_set.empty()) out_.member("pod_set", l.pod_set);
      out_.member("text", l.text).end_object();
    }
    out_.end_array();
    if (t_.leaving) {
      out_.key("leaving");
      lab::write(out_, *t_.leaving);
    }
    if (!t_.never.empty()) out_.member("never", t_.never);
    if (t_.reservation) {
      out_.key("promise");
      lab::write(out_, *t_.reservation);
    }
    text_or_null("behind", t_.behind);
    out_.key("remedies").begin_array();
    for (const job_story::remedy& r : t_.remedies) {
      out_.begin_object().member("kind", r.kind).member("admits", r.admits);
      names("jobs", r.jobs);
      out_.member("text", r.text).member("remark", r.remark).end_object();
    }
    out_.end_array();
    text_or_null("for", t_.beneficiary);
    text_or_null("reason", t_.reason);
    out_.member("yielding_pods", t_.yielding_pods);
    names("victims", t_.victims);
    text_or_null("rule", word_of_rule(t_.rule.rule));
    side("share_of_victim", t_.of_victim);
    side("share_of_beneficiary", t_.of_beneficiary);
    out_.key("loans").begin_array();
    for (const job_story::loan& l : t_.loans) {
      out_.begin_object().member("from", l.from).member("resource", l.resource);
      out_.member("amount", l.amount).end_object();
    }
    out_.end_array();
    out_.key("yields_to").begin_array();
    for (const job_story::claim& c : t_.yields_to) {
      out_.begin_object().member("quota", c.quota).member("reason", c.reason);
      out_.member("text", c.text).end_object();
    }
    out_.end_array();
    out_.key("shares").begin_array();
    for (const job_story::share& x : t_.shares) share(x);
    out_.end_array().end_object();
    return out_.text();
  }

 private:
  void names(std::string_view name, const vector<std::string>& all) {
    out_.key(name).begin_array();
    for (const std::string& one : all) out_.value(one);
    out_.end_array();
  }
  void text_or_null(std::string_view name, std::string_view text) {
    out_.key(name);
    text.empty() ? out_.null() : out_.value(text);
  }
  void amounts_of(std::string_view name, const amounts& all) {
    out_.key(name).begin_object();
    for (std::size_t d = 0; d < s_.resources.size(); ++d) out_.member(s_.resources[d], all[d]);
    out_.end_object();
  }
  void share(const job_story::share& x) {
    out_.begin_object().member("quota", x.quota).member("own", x.is_own);
    amounts_of("nominal", x.nominal);
    amounts_of("used", x.used);
    amounts_of("entitled", x.entitled);
    amounts_of("borrowed", x.borrowed);
    out_.key("weight").raw(to_string(quantity::milli(x.weight_milli)));
    out_.key("share");
    x.borrowed_share.is_infinite() ? out_.null()
                                   : out_.raw(fmt::format("{:.6f}", x.borrowed_share.approximate()));
    out_.end_object();
  }
  void side(std::string_view name, const std::optional<job_story::share>& x) {
    out_.key(name);
    x ? share(*x) : void(out_.null());
  }

  const job_story& t_;
  const scenario& s_;
  json_writer out_;
};

}  // namespace

std::string to_text(const job_story& story, const scenario& s) {
  return text_writer{story, s}.write();
}
std::string to_json(const job_story& story, const scenario& s) {
  return data_writer{story, s}.write();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
