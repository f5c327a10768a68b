// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/state.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// The version of the text that `to_text` writes; `state_from_text` reads it and the one before it, of which
/// there is none yet.
inline constexpr int state_text_version = 1;

namespace detail {

// The fields of a state, once for writing and for reading: `f(name, of)` is called for each, where
// `of(object)` returns the field. What a field has in a new object is not written. So one that is added later
// has that value when it is missing in an older text.

template <class F>
void for_each_field(const unit_state&, F f) {
  f(
      "id", [](auto& u) -> auto& { return u.id; });
  f(
      "state", [](auto& u) -> auto& { return u.state; });
  f(
      "core", [](auto& u) -> auto& { return u.core; });
  f(
      "elastic_pods", [](auto& u) -> auto& { return u.elastic_pods; });
  f(
      "pods_to_come", [](auto& u) -> auto& { return u.pods_to_come; });
  f(
      "pods", [](auto& u) -> auto& { return u.pods; });
  f(
      "set", [](auto& u) -> auto& { return u.set; });
  f(
      "pick", [](auto& u) -> auto& { return u.pick; });
  f(
      "rank", [](auto& u) -> auto& { return u.rank; });
  f(
      "submitted", [](auto& u) -> auto& { return u.submitted; });
  f(
      "estimate", [](auto& u) -> auto& { return u.estimate; });
  f(
      "ready_at", [](auto& u) -> auto& { return u.ready_at; });
  f(
      "not_before", [](auto& u) -> auto& { return u.not_before; });
  f(
      "waits_since", [](auto& u) -> auto& { return u.waits_since; });
  f(
      "since", [](auto& u) -> auto& { return u.since; });
  f(
      "found", [](auto& u) -> auto& { return u.found; });
  f(
      "preemptions", [](auto& u) -> auto& { return u.preemptions; });
  f(
      "follows_priority", [](auto& u) -> auto& { return u.follows_priority; });
  f(
      "is_over", [](auto& u) -> auto& { return u.is_over; });
  f(
      "is_starting", [](auto& u) -> auto& { return u.is_starting; });
  f(
      "leaves_by", [](auto& u) -> auto& { return u.leaves_by; });
  f(
      "is_held", [](auto& u) -> auto& { return u.is_held; });
  f(
      "spared_until", [](auto& u) -> auto& { return u.spared_until; });
  f(
      "had_turn", [](auto& u) -> auto& { return u.had_turn; });
  f(
      "had_start", [](auto& u) -> auto& { return u.had_start; });
  f(
      "had_own", [](auto& u) -> auto& { return u.had_own; });
  f(
      "gathers_from", [](auto& u) -> auto& { return u.gathers_from; });
  f(
      "gathers_until", [](auto& u) -> auto& { return u.gathers_until; });
}
template <class F>
void for_each_field(const scheduler_memory::departure&, F f) {
  f(
      "job", [](auto& d) -> auto& { return d.job; });
  f(
      "beneficiary", [](auto& d) -> auto& { return d.beneficiary; });
  f(
      "is_unneeded", [](auto& d) -> auto& { return d.is_unneeded; });
}
template <class F>
void for_each_field(const scheduler_memory::held_reservation&, F f) {
  f(
      "job", [](auto& r) -> auto& { return r.job; });
  f(
      "start", [](auto& r) -> auto& { return r.what.start; });
  f(
      "first_start", [](auto& r) -> auto& { return r.what.first_start; });
  f(
      "after", [](auto& r) -> auto& { return r.what.after; });
  f(
      "borrows", [](auto& r) -> auto& { return r.what.borrows; });
  f(
      "owned", [](auto& r) -> auto& { return r.what.owned; });
  f(
      "cause", [](auto& r) -> auto& { return r.what.cause; });
  f(
      "gathers_since", [](auto& r) -> auto& { return r.what.gathers_since; });
  f(
      "freed_until", [](auto& r) -> auto& { return r.freed_until; });
  f(
      "number", [](auto& r) -> auto& { return r.number; });
  f(
      "is_untried", [](auto& r) -> auto& { return r.is_untried; });
  f(
      "is_back", [](auto& r) -> auto& { return r.is_back; });
  f(
      "behind", [](auto& r) -> auto& { return r.behind; });
}
template <class F>
void for_each_field(const scheduler_memory::inadmissible_class&, F f) {
  f(
      "job", [](auto& c) -> auto& { return c.job; });
  f(
      "rank", [](auto& c) -> auto& { return c.rank; });
  f(
      "ends_by", [](auto& c) -> auto& { return c.ends_by; });
}
template <class F>
void for_each_field(const backoff&, F f) {
  f(
      "quota", [](auto& b) -> auto& { return b.quota; });
  f(
      "dimension", [](auto& b) -> auto& { return b.dimension; });
  f(
      "since", [](auto& b) -> auto& { return b.since; });
  f(
      "until", [](auto& b) -> auto& { return b.until; });
  f(
      "times", [](auto& b) -> auto& { return b.times; });
}
template <class F>
void for_each_field(const cycle_memory::flavor_scan&, F f) {
  f(
      "job", [](auto& s) -> auto& { return s.job; });
  f(
      "next", [](auto& s) -> auto& { return s.next; });
  f(
      "cycles", [](auto& s) -> auto& { return s.cycles; });
  f(
      "age", [](auto& s) -> auto& { return s.age; });
}
template <class F>
void for_each_field(const cycle_memory::blocked_head&, F f) {
  f(
      "job", [](auto& b) -> auto& { return b.job; });
  f(
      "is_current", [](auto& b) -> auto& { return b.is_current; });
}
template <class F>
void for_each_field(const cycle_memory&, F f) {
  f(
      "announced", [](auto& m) -> auto& { return m.announced; });
  f(
      "touched", [](auto& m) -> auto& { return m.touched; });
  f(
      "revisited", [](auto& m) -> auto& { return m.revisited; });
  f(
      "past_usage", [](auto& m) -> auto& { return m.past_usage; });
  f(
      "claimed", [](auto& m) -> auto& { return m.claimed; });
  f(
      "is_at_rest", [](auto& m) -> auto& { return m.is_at_rest; });
  f(
      "has_new_quotas", [](auto& m) -> auto& { return m.has_new_quotas; });
  f(
      "ended_early", [](auto& m) -> auto& { return m.ended_early; });
  f(
      "may_miss", [](auto& m) -> auto& { return m.may_miss; });
}
/// But for its lists of objects.
template <class F>
void for_each_field(const scheduler_memory&, F f) {
  f(
      "now", [](auto& m) -> auto& { return m.now; });
  f(
      "quotas", [](auto& m) -> auto& { return m.quotas; });
  f(
      "free_ids", [](auto& m) -> auto& { return m.free_ids; });
  f(
      "most_jobs", [](auto& m) -> auto& { return m.most_jobs; });
  f(
      "submissions", [](auto& m) -> auto& { return m.submissions; });
  f(
      "nominated", [](auto& m) -> auto& { return m.nominated; });
  f(
      "next_reservation", [](auto& m) -> auto& { return m.next_reservation; });
  f(
      "blocking", [](auto& m) -> auto& { return m.blocking; });
  f(
      "touched", [](auto& m) -> auto& { return m.touched; });
  f(
      "renewing", [](auto& m) -> auto& { return m.renewing; });
  f(
      "must_requeue", [](auto& m) -> auto& { return m.must_requeue; });
  f(
      "freed_until", [](auto& m) -> auto& { return m.freed_until; });
  f(
      "cause", [](auto& m) -> auto& { return m.cause; });
  f(
      "starts_may_move", [](auto& m) -> auto& { return m.starts_may_move; });
  f(
      "ended_from", [](auto& m) -> auto& { return m.ended_from; });
  f(
      "ended_to", [](auto& m) -> auto& { return m.ended_to; });
}
/// Its lists of objects: `f(name of one, of)`.
template <class F>
void for_each_list(F f) {
  f(
      "leaving", [](auto& m) -> auto& { return m.leaving; });
  f(
      "reservation", [](auto& m) -> auto& { return m.reservations; });
  f(
      "former_reservation", [](auto& m) -> auto& { return m.former_reservations; });
  f(
      "backoff", [](auto& m) -> auto& { return m.backoffs; });
  f(
      "inadmissible", [](auto& m) -> auto& { return m.inadmissible; });
  f(
      "flavor_scan", [](auto& m) -> auto& { return m.of_cycle.scans; });
  f(
      "blocked_head", [](auto& m) -> auto& { return m.of_cycle.blocked; });
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<vector<T>> = true;

/// Writes values, quotas by name.
class state_writer {
 public:
  explicit state_writer(const vector<std::string>& quotas) : quotas_(quotas) {}

  template <class T>
  void line(std::string_view what, const T& object) {
    text += what;
    fields(object);
    text += '\n';
  }
  template <class T>
  void fields(const T& object) {
    const T fresh{};
    for_each_field(object, [&](std::string_view name, auto of) {
      if (of(object) == of(fresh)) return;
      key(name);
      write(of(object));
    });
  }
  void key(std::string_view name) {
    text += ' ';
    text += name;
    text += '=';
  }
  void quoted(std::string_view s) {
    text += '"';
    for (const char c : s) {
      if (c == '"' || c == '\\') text += '\\';
      c == '\n' ? text += "\\n" : text += c;
    }
    text += '"';
  }

  std::string text;

 private:
  template <class T>
  void write(const T& v) {
    if constexpr (std::same_as<T, std::string>) {
      quoted(v);
    } else if constexpr (std::same_as<T, quota_id>) {
      quoted(v.index() < quotas_.size() ? std::string_view{quotas_[v.index()]} : std::string_view{});
    } else if constexpr (std::same_as<T, job_id>) {
      if (!v) return;
      number(v.index());
      text += '.';
      number(v.generation());
    } else if constexpr (std::same_as<T, job_rank>) {
      number(v.key);
      for (const instant part : {v.submitted, static_cast<instant>(v.elastic)}) text += ',', number(part);
      text += ',';
      number(v.id);
    } else if constexpr (std::same_as<T, flavor_pick>) {
      for (const std::uint8_t pick : v) text += text.back() == '=' ? "" : ",", number(unsigned{pick});
    } else if constexpr (std::is_enum_v<T>) {
      text += to_string(v);
    } else if constexpr (is_optional<T>) {
      write(*v);
    } else if constexpr (is_list<T>) {
      for (const auto& each : v) text += text.back() == '=' ? "" : ",", write(each);
    } else if constexpr (std::same_as<T, bool>) {
      number(v ? 1 : 0);
    } else {
      number(v);
    }
  }
  template <std::integral I>
  void number(I v) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }

  const vector<std::string>& quotas_;
};

/// Reads a line: what it is about, then `name=value` each. What it can't read is a problem with its line.
class state_reader {
 public:
  /// The next line; false at the end of the text.
  [[nodiscard]] bool next(std::string_view& rest_of_text) {
    if (rest_of_text.empty()) return false;
    const std::size_t end = rest_of_text.find('\n');
    left_ = rest_of_text.substr(0, end);
    rest_of_text.remove_prefix(end == std::string_view::npos ? rest_of_text.size() : end + 1);
    ++line_;
    return true;
  }
  /// Up to the next of these characters, which is not taken.
  [[nodiscard]] std::string_view word(std::string_view ends = " =,") {
    const std::string_view found = left_.substr(0, left_.find_first_of(ends));
    left_.remove_prefix(found.size());
    return found;
  }
  [[nodiscard]] bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool is_at_end() const noexcept { return left_.empty(); }
  void fail(std::string_view what) {
    if (has_failed_) return;
    has_failed_ = true;
    problems.push_back({problem_code::out_of_range,
                        {},
                        {},
                        "line " + std::to_string(line_) + " of the state: " + std::string{what}});
  }
  /// Whether the rest of this line can't be read.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  /// Reads all fields of the object; `other(name)` those of other names, and returns whether it knows them.
  template <class T, class Other>
  void fields(T& object, Other other) {
    while (take(' ') && !has_failed_) {
      const std::string_view name = word();
      if (!take('=')) return fail("a name and '=' are expected");
      bool is_known = false;
      for_each_field(object, [&](std::string_view known, auto of) {
        if (is_known || known != name) return;
        is_known = true;
        if (!read(of(object))) fail("this is no value of " + std::string{name});
      });
      if (!is_known && !other(name)) return fail("unknown field " + std::string{name});
    }
    if (!is_at_end() && !has_failed_) fail("a space is expected");
  }
  [[nodiscard]] bool quoted(std::string& s) {
    if (!take('"')) return false;
    for (s.clear(); !left_.empty(); left_.remove_prefix(1)) {
      char c = left_.front();
      if (c == '"') return take('"');
      if (c == '\\' && left_.size() > 1) {
        left_.remove_prefix(1);
        c = left_.front() == 'n' ? '\n' : left_.front();
      }
      s += c;
    }
    return false;
  }

  vector<problem> problems;

 private:
  template <class T>
  [[nodiscard]] bool read(T& v) {
    if constexpr (std::same_as<T, std::string>) {
      return quoted(v);
    } else if constexpr (std::same_as<T, quota_id>) {
      std::string name;
      if (!quoted(name)) return false;
      for (std::size_t i = 0; i < quotas_.size(); ++i) {
        if (quotas_[i] == name) return v = quota_id{i}, true;
      }
      return false;
    } else if constexpr (std::same_as<T, job_id>) {
      std::uint32_t index = 0, generation = 0;
      if (!number(index) || !take('.') || !number(generation)) return false;
      v = job_id{index, generation};
      return !v.is_none();
    } else if constexpr (std::same_as<T, job_rank>) {
      instant elastic = 0;
      const bool is_whole = number(v.key) && take(',') && number(v.submitted) && take(',') &&
                            number(elastic) && take(',') && number(v.id);
      v.elastic = elastic == 1;
      return is_whole && (elastic == 0 || elastic == 1);
    } else if constexpr (std::same_as<T, flavor_pick>) {
      for (std::size_t g = 0; g < v.size(); ++g) {
        if ((g > 0 && !take(',')) || !number(v[g])) return false;
      }
      return true;
    } else if constexpr (std::is_enum_v<T>) {
      const std::string_view name = word();
      for (int i = 0; i < 32 && !name.empty(); ++i) {
        if (to_string(static_cast<T>(i)) == name) return v = static_cast<T>(i), true;
      }
      return false;
    } else if constexpr (is_optional<T>) {
      return read(v.emplace());
    } else if constexpr (is_list<T>) {
      do {
        if (!read(v.emplace_back())) return false;
      } while (take(','));
      // Quotas are named before they are referred to.
      if constexpr (std::same_as<T, vector<std::string>>) quotas_ = v;
      return true;
    } else if constexpr (std::same_as<T, bool>) {
      return v = take('1'), v;
    } else {
      return number(v);
    }
  }
  template <class I>
  [[nodiscard]] bool number(I& v) {
    const auto end = std::from_chars(left_.data(), left_.data() + left_.size(), v);
    if (end.ec != std::errc{}) return false;
    left_.remove_prefix(static_cast<std::size_t>(end.ptr - left_.data()));
    return true;
  }

  std::string_view left_;
  vector<std::string> quotas_;
  std::size_t line_ = 0;
  bool has_failed_ = false;
};

}  // namespace detail

/// A state as lines of text, for a file: quotas by their names, jobs and places as `name_of(Job)` and
/// `text_of(Place)` write them, which return strings; the places of jobs that have none are not asked for.
/// Ends with a line "end", so that half a file is recognised. O(size).
template <class Job, class Place, class NameOf, class TextOf>
[[nodiscard]] std::string to_text(const scheduler_state<Job, Place>& s, NameOf name_of, TextOf text_of) {
  detail::state_writer w{s.memory.quotas};
  w.text = "allot-state " + std::to_string(state_text_version) + '\n';
  w.line("memory", s.memory);
  if (s.memory.of_cycle != cycle_memory{}) w.line("cycle", s.memory.of_cycle);
  for (const auto& u : s.units) {
    w.text += "unit";
    w.fields(static_cast<const unit_state&>(u));
    w.key("what");
    w.quoted(name_of(u.what));
    if (u.state != job_state::pending) {
      w.key("where");
      w.quoted(text_of(u.where));
    }
    w.text += '\n';
  }
  detail::for_each_list([&](std::string_view what, auto of) {
    for (const auto& each : of(s.memory)) w.line(what, each);
  });
  w.text += "end\n";
  return std::move(w.text);
}

/// The state of a text: `job_of(name)` and `place_of(text)` return optionals, none for what they can't read.
/// Refused, with the line, if it was written by a later version or is not whole.
template <class Job, class Place, class JobOf, class PlaceOf>
[[nodiscard]] result<scheduler_state<Job, Place>> state_from_text(std::string_view text, JobOf job_of,
                                                                  PlaceOf place_of) {
  detail::state_reader in;
  scheduler_state<Job, Place> s;
  const auto nothing_else = [](std::string_view) { return false; };
  if (!in.next(text) || in.word() != "allot-state" || !in.take(' ') ||
      in.word() != std::to_string(state_text_version)) {
    in.fail("\"allot-state " + std::to_string(state_text_version) +
            "\" is expected: it is no state, or of another version");
  }
  bool is_whole = false;
  while (!in.has_failed() && !is_whole && in.next(text)) {
    const std::string_view what = in.word();
    if (what == "end") {
      is_whole = in.is_at_end();
      if (!is_whole || !text.empty()) in.fail("nothing is expected after the end");
    } else if (what == "memory") {
      in.fields(s.memory, nothing_else);
    } else if (what == "cycle") {
      in.fields(s.memory.of_cycle, nothing_else);
    } else if (what == "unit") {
      auto& u = s.units.emplace_back();
      bool has_job = false;
      std::string value;
      in.fields(static_cast<unit_state&>(u), [&](std::string_view name) {
        if (name != "what" && name != "where") return false;
        if (!in.quoted(value)) return in.fail("a quoted text is expected"), true;
        if (name == "what") {
          if (auto job = job_of(std::as_const(value))) {
            u.what = *std::move(job);
            has_job = true;
          }
        } else if (auto place = place_of(std::as_const(value))) {
          u.where = *std::move(place);
        } else {
          in.fail("this is no place");
        }
        return true;
      });
      if (!has_job) in.fail("this is no job");
    } else {
      bool is_known = false;
      detail::for_each_list([&](std::string_view known, auto of) {
        if (known != what) return;
        is_known = true;
        in.fields(of(s.memory).emplace_back(), nothing_else);
      });
      if (!is_known) in.fail("unknown: " + std::string{what});
    }
  }
  if (!is_whole) in.fail("it ends here, and is not whole");
  // Ids that are neither a job's nor free are rare, and a scheduler keeps memory for each.
  constexpr std::size_t most_unused = 1'000'000;
  if (s.memory.most_jobs > s.units.size() + s.memory.free_ids.size() + most_unused) {
    in.fail("there can't have been so many jobs");
  }
  if (in.has_failed()) return std::move(in.problems);
  return s;
}

}  // namespace v0
}  // namespace allot
