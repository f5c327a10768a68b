// SPDX-License-Identifier: BSL-1.0
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// What to write instead of a key that there was; empty if there was no such key.
[[nodiscard]] std::string_view instead_of(std::string_view key) {
  struct former_key {
    std::string_view key;
    std::string_view instead;
  };
  constexpr former_key former_keys[] = {
      {"backfill_preemptible",
       "jobs without an estimate wait where they would delay a reservation; leave it out, or give them "
       "estimates"},
  };
  for (const former_key& k : former_keys) {
    if (k.key == key) return k.instead;
  }
  return {};
}

}  // namespace

// Objects.

std::optional<json_value> json_object::find(std::string_view key) {
  known_.push_back(key);
  return object_.find(key);
}

std::optional<json_value> json_object::require(std::string_view key) {
  const auto value = find(key);
  if (!value) object_.report(*found_, "the key \"" + std::string{key} + "\" is missing");
  return value;
}

void json_object::reject_unknown() const {
  object_.for_each([&](json_value member) {
    const std::string_view key = member.key();
    if (key.substr(0, 2) == "x-" || std::find(known_.begin(), known_.end(), key) != known_.end()) return;
    // The others are only counted, and there may be millions.
    if (found_->size() >= errors::most_kept) return member.report(*found_, {});
    if (const std::string_view instead = instead_of(key); !instead.empty()) {
      return member.report(*found_, "\"" + std::string{key} + "\" is no more: " + std::string{instead});
    }
    member.report(*found_, "unknown key \"" + std::string{key} + '"' + meant_or_expected(key, known_));
  });
}

namespace {

[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b) {
  vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void write_value(json_value value, json_writer& to) {
  switch (value.is()) {
    case json_value::kind::object:
      to.begin_object();
      value.for_each([&](json_value member) {
        to.key(member.key());
        write_value(member, to);
      });
      to.end_object();
      break;
    case json_value::kind::array:
      to.begin_array();
      value.for_each([&](json_value element) { write_value(element, to); });
      to.end_array();
      break;
    case json_value::kind::string:
      to.value(value.text());
      break;
    case json_value::kind::null:
      to.null();
      break;
    default:
      to.raw(value.text());
  }
}

std::string_view nearest(std::string_view word, const vector<std::string_view>& words) {
  constexpr std::size_t longest = 100;
  if (word.size() > longest) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3 + 1);
  for (const std::string_view w : words) {
    const std::size_t distance = edit_distance(word, w);
    if (distance < least) least = distance, best = w;
  }
  return best;
}

std::string did_you_mean(std::string_view meant) {
  return meant.empty() ? "" : " (did you mean \"" + std::string{meant} + "\"?)";
}

std::string meant_or_expected(std::string_view word, const vector<std::string_view>& words) {
  const std::string_view meant = nearest(word, words);
  return meant.empty() ? " (expected " + listed(words) + ')' : did_you_mean(meant);
}

std::string listed(const vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text.append("\"").append(words[i]).append("\"");
  }
  return text;
}

// Kinds of values.

namespace {

void report_other(json_value value, const std::string& expected, errors& found) {
  value.report(found, "expected " + expected + ", found " + value.shown());
}

/// Converts a JSON number to plain decimals: 1.25e2 to 125.
[[nodiscard]] parsed_milli parse_number(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return parse_milli(text);
  std::string digits{text.substr(0, e)};
  std::string_view power = text.substr(e + 1);
  const bool negative = digits.front() == '-';
  if (negative) digits.erase(0, 1);
  std::size_t point = digits.find('.');
  if (point == std::string::npos) {
    point = digits.size();
  } else {
    digits.erase(point, 1);
  }
  if (digits.find_first_not_of('0') == std::string::npos) return {};
  const bool down = power.front() == '-';
  if (down || power.front() == '+') power.remove_prefix(1);
  power.remove_prefix(std::min(power.find_first_not_of('0'), power.size()));
  // However many digits fit a line of text, an exponent of four digits is out of range.
  if (power.size() > 3) return {0, down ? decimal_problem::too_fine : decimal_problem::too_large};
  const std::size_t by = power.empty() ? 0 : static_cast<std::size_t>(std::stoul(std::string{power}));
  if (down) {
    if (by >= point) digits.insert(0, by - point + 1, '0'), point += by - point + 1;
    point -= by;
  } else {
    point += by;
    if (point > digits.size()) digits.append(point - digits.size(), '0');
  }
  std::string plain = negative ? "-" : "";
  plain.append(digits, 0, point);
  if (point < digits.size()) plain.append(".").append(digits, point);
  return parse_milli(plain);
}

}  // namespace

bool expect_object(json_value value, errors& found) {
  if (!value.is_object()) report_other(value, "an object", found);
  return value.is_object();
}

bool expect_array(json_value value, errors& found) {
  if (!value.is_array()) report_other(value, "an array", found);
  return value.is_array();
}

std::optional<std::string> read_string(json_value value, errors& found) {
  // Names, and paths of files.
  constexpr std::size_t longest = 4096;
  if (value.is_string() && value.text().size() <= longest) return std::string{value.text()};
  if (value.is_string()) {
    value.report(found, "expected at most " + std::to_string(longest) + " bytes, found " +
                            std::to_string(value.text().size()));
  } else {
    report_other(value, "a string", found);
  }
  return std::nullopt;
}

std::optional<bool> read_bool(json_value value, errors& found) {
  if (value.is() == json_value::kind::boolean) return value.text() == "true";
  report_other(value, "true or false", found);
  return std::nullopt;
}

std::optional<std::int64_t> read_whole(json_value value, std::int64_t least, std::int64_t most,
                                       errors& found) {
  if (value.is_number()) {
    const parsed_milli n = parse_number(value.text());
    if (n.problem == decimal_problem::none && n.value % 1000 == 0 && least <= n.value / 1000 &&
        n.value / 1000 <= most) {
      return n.value / 1000;
    }
  }
  report_other(value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), found);
  return std::nullopt;
}

std::optional<std::int64_t> read_milli(json_value value, errors& found) {
  constexpr std::int64_t most = 1'000'000'000'000;
  const parsed_milli n =
      value.is_number() ? parse_number(value.text()) : parsed_milli{0, decimal_problem::malformed};
  if (n.problem == decimal_problem::none && 0 <= n.value && n.value <= most * 1000) return n.value;
  if (n.problem == decimal_problem::malformed) {
    report_other(value, "a number", found);
  } else if (value.text().front() == '-') {
    report_other(value, "a number that is not negative", found);
  } else if (n.problem == decimal_problem::too_fine) {
    report_other(value, "a number with at most three decimals", found);
  } else {
    report_other(value, "a number up to " + std::to_string(most), found);
  }
  return std::nullopt;
}

std::optional<std::size_t> read_word(json_value value, const vector<std::string_view>& words, errors& found) {
  if (value.is_string()) {
    const auto at = std::find(words.begin(), words.end(), value.text());
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  }
  report_other(value, listed(words), found);
  return std::nullopt;
}

vector<std::string> read_strings(json_value value, errors& found) {
  vector<std::string> result;
  if (!expect_array(value, found)) return result;
  value.for_each([&](json_value element) {
    if (auto text = read_string(element, found)) result.push_back(std::move(*text));
  });
  return result;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
