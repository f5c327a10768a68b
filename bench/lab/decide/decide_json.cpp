// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/decide.hpp"

#include "lab/io/terminal.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>

#include <fmt/core.h>

#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Writes the lists of a decision.
class decision_writer {
 public:
  decision_writer(const decision& d, const scenario& s) : d_(d), s_(s) {}

  [[nodiscard]] std::string write() && {
    out_.begin_object();
    out_.member("format", "allot-decision/1");
    out_.member("rounds", std::uint64_t{d_.rounds});
    list("admit", d_.admit, [&](const auto& a) {
      out_.member("pods", a.pods);
      flavors(a.flavors);
      if (!a.sets.empty()) {
        out_.key("pod_sets").begin_array();
        for (const decision::pod_set& s : a.sets) {
          out_.begin_object().member("name", s.name).member("pods", s.pods);
          flavors(s.flavors);
          out_.end_object();
        }
        out_.end_array();
      }
      names("nodes", a.nodes);
      amounts_of("borrows", a.borrows);
    });
    list("evict", d_.evict, [&](const auto& e) {
      out_.member("pods", e.pods).key("for");
      e.beneficiary.empty() ? out_.null() : out_.value(e.beneficiary);
      out_.member("reason", e.reason);
      if (e.why.rule == fairness_rule::none) return;
      out_.member("rule", word_of_rule(e.why.rule)).key("shares").begin_object();
      write_share("for", e.why.beneficiary);
      write_share("victim", e.why.victim);
      out_.end_object();
    });
    list("reserve", d_.reserve, [&](const auto& r) { names("waits_for", r.waits_for); });
    list("hold", d_.pending, [&](const auto& h) {
      out_.member("reason", h.reason).member("at", h.at).key("resource");
      h.resource ? out_.value(*h.resource) : out_.null();
      out_.key("short_by");
      h.resource ? out_.value(h.short_by) : out_.null();
      out_.member("text", h.text);
      if (h.leaving) {
        out_.key("leaving");
        lab::write(out_, *h.leaving);
      }
      if (!h.never.empty()) out_.member("never", h.never);
      if (!h.reservation) return;
      out_.key("promise");
      lab::write(out_, *h.reservation);
    });
    list("refuse", d_.refuse, [&](const auto& r) { out_.member("reason", r.reason).member("text", r.text); });
    out_.key("quotas").begin_object();
    for (const decision::account& a : d_.quotas) {
      out_.key(name_of(a.quota)).begin_object();
      amounts_of("used", a.used);
      amounts_of("entitled", a.entitled);
      amounts_of("borrowed", a.borrowed);
      amounts_of("lent", a.lent);
      write_share("share", a.share);
      out_.end_object();
    }
    out_.end_object().end_object();
    return out_.text();
  }

 private:
  [[nodiscard]] const std::string& name_of(quota_id x) const { return s_.quotas[x.index()].spec.name; }

  template <class List, class Rest>
  void list(std::string_view name, const List& entries, Rest rest) {
    out_.key(name).begin_array();
    for (const auto& e : entries) {
      out_.begin_object().member("id", e.id).member("quota", name_of(e.quota));
      rest(e);
      out_.end_object();
    }
    out_.end_array();
  }
  void flavors(const vector<flavor_name>& all) {
    out_.key("flavors").begin_object();
    for (const flavor_name& f : all) out_.member(f.resource, f.flavor);
    out_.end_object();
  }
  void names(std::string_view name, const vector<std::string_view>& all) {
    out_.key(name).begin_array();
    for (const std::string_view n : all) out_.value(n);
    out_.end_array();
  }
  void amounts_of(std::string_view name, const amounts& all) {
    out_.key(name).begin_object();
    for (std::size_t d = 0; d < s_.resources.size(); ++d) out_.member(s_.resources[d], all[d]);
    out_.end_object();
  }
  /// JSON has no infinity, the share of a quota of weight zero that borrows.
  void write_share(std::string_view name, const ratio& share) {
    out_.key(name);
    share.is_infinite() ? out_.null() : out_.raw(plain_decimal(share.approximate()));
  }
  [[nodiscard]] static std::string plain_decimal(double x) {
    std::string text = fmt::format("{:.6f}", x);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }

  const decision& d_;
  const scenario& s_;
  json_writer out_;
};

}  // namespace

std::string_view word_of_rule(fairness_rule rule) noexcept {
  return rule == fairness_rule::none ? std::string_view{} : to_string(rule);
}

void write(json_writer& to, const leaving_jobs& p) {
  const auto job = [&](std::string_view name, std::string_view id) {
    to.key(name);
    id.empty() ? to.null() : to.value(id);
  };
  to.begin_object();
  job("job", p.job);
  job("for", p.beneficiary);
  to.member("others", static_cast<std::uint64_t>(p.others)).key("amount");
  p.amount ? to.value(*p.amount) : to.null();
  to.member("held", p.is_held).end_object();
}

void write(json_writer& to, const reserved_start& p) {
  const auto time = [&](std::string_view name, instant at) {
    to.key(name);
    at == without_end ? to.null() : to.raw(decimal(at));
  };
  to.begin_object();
  time("start_s", p.what.start);
  time("first_start_s", p.what.first_start);
  to.key("after");
  p.after.empty() ? to.null() : to.value(std::string_view{p.after});
  to.member("borrows", p.what.borrows).member("gathers", p.what.gathers_since.has_value()).key("cause");
  p.what.cause == delay_cause::none ? to.null() : to.value(to_string(p.what.cause));
  to.key("nodes").begin_array();
  for (const std::string_view node : p.nodes) to.value(node);
  to.end_array().member("text", p.text).end_object();
}

std::string to_json(const decision& d, const scenario& s) {
  return decision_writer{d, s}.write();
}

int run_decide(const decide_options& options) {
  errors found;
  const auto s = read_scenario(options.source, found);
  const auto made = s ? decide(*s, options.rounds, found) : std::nullopt;
  if (!made) return complain(found);
  return print_result(to_json(*made, *s), "the decision") ? 0 : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
