// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// What is wrong with a specification. Stable: a program may test for it.
enum class problem_code : std::uint8_t {
  /// A name is required.
  empty_name,
  /// Something else has that name.
  duplicate_name,
  /// The parent does not exist.
  unknown_parent,
  /// The parents form a cycle.
  cycle,
  /// An amount, limit, weight or time is below zero.
  negative,
  /// A number is too large or too small for its field, or a sum can't be counted.
  out_of_range,
  /// The children of an inclusive quota are given more than it has.
  exceeds_parent,
  /// The quotas below an inclusive quota keep more for themselves than it has.
  keeps_more_than_it_has,
  /// It still has jobs.
  in_use,
  /// There is no such quota.
  unknown_quota,
  /// It refers to something that does not exist.
  unknown_name,
  /// Something that is required is not there.
  missing,
  /// It is in several domains, or below several parents.
  more_than_one_parent,
  /// One setting makes another meaningless.
  contradiction,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(problem_code value) noexcept {
  switch (value) {
    case problem_code::empty_name:
      return "empty_name";
    case problem_code::duplicate_name:
      return "duplicate_name";
    case problem_code::unknown_parent:
      return "unknown_parent";
    case problem_code::cycle:
      return "cycle";
    case problem_code::negative:
      return "negative";
    case problem_code::out_of_range:
      return "out_of_range";
    case problem_code::exceeds_parent:
      return "exceeds_parent";
    case problem_code::keeps_more_than_it_has:
      return "keeps_more_than_it_has";
    case problem_code::in_use:
      return "in_use";
    case problem_code::unknown_quota:
      return "unknown_quota";
    case problem_code::unknown_name:
      return "unknown_name";
    case problem_code::missing:
      return "missing";
    case problem_code::more_than_one_parent:
      return "more_than_one_parent";
    case problem_code::contradiction:
      return "contradiction";
  }
  return "";
}

/// One problem with the user's input.
struct problem {
  /// The `dimension` of a problem that concerns no single dimension.
  static constexpr std::size_t no_dimension = static_cast<std::size_t>(-1);

  /// What is wrong. Stable: a program may test for it.
  problem_code code{};
  /// The name of the quota, node or job concerned.
  std::string subject;
  /// The field of the specification, by its name there.
  std::string field;
  /// A human-readable sentence.
  std::string text;
  /// The dimension concerned, or `no_dimension`.
  std::size_t dimension = no_dimension;
};

namespace detail {

/// Adds a problem whose sentence is these parts, joined: where problems are looked for, this is much less
/// code than a sum of strings.
[[gnu::noinline]] inline void add_problem(vector<problem>& to, problem_code code, std::string_view subject,
                                          std::string_view field,
                                          std::initializer_list<std::string_view> text,
                                          std::size_t dimension = problem::no_dimension) {
  problem& p = to.emplace_back();
  p.code = code;
  p.subject = subject;
  p.field = field;
  for (const std::string_view part : text) p.text += part;
  p.dimension = dimension;
}

/// That problem alone.
[[nodiscard, gnu::noinline]] inline vector<problem> one_problem(problem_code code, std::string_view subject,
                                                                std::string_view field,
                                                                std::string_view text) {
  vector<problem> one;
  add_problem(one, code, subject, field, {text});
  return one;
}

}  // namespace detail

/// A value, or every problem found while making it. Defined here because the library does not throw and
/// `std::expected` is not in C++20.
template <class T>
class [[nodiscard]] result {
 public:
  result(T&& value) : value_(std::move(value)) {}
  result(const T& value) : value_(value) {}
  result(vector<problem> problems) : problems_(std::move(problems)) {
    ALLOT_ASSERT(!problems_.empty(), "a result holds a value or at least one problem");
  }

  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
  /// What is wrong; empty if there is a value.
  [[nodiscard]] const vector<problem>& problems() const& noexcept { return problems_; }
  /// The same, to be taken on.
  [[nodiscard]] vector<problem>&& problems() && noexcept { return std::move(problems_); }
  /// Precondition: there is a value.
  [[nodiscard]] T& value() & {
    ALLOT_ASSERT(value_.has_value(), "no value: see problems()");
    return *value_;
  }
  /// @{
  /// The value. Precondition: there is one (`ALLOT_ASSERT`).
  [[nodiscard]] const T& value() const& {
    ALLOT_ASSERT(value_.has_value(), "no value: see problems()");
    return *value_;
  }
  [[nodiscard]] T&& value() && {
    ALLOT_ASSERT(value_.has_value(), "no value: see problems()");
    return std::move(*value_);
  }
  /// @}

 private:
  std::optional<T> value_;
  vector<problem> problems_;
};

}  // namespace v0
}  // namespace allot
