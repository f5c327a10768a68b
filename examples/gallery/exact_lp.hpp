// SPDX-License-Identifier: BSL-1.0
// Small linear programs, solved exactly: the simplex method on integers of any size. Dense, so for a
// hundred rows.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// Asks for the x >= 0 with rows x <= bounds that maximizes `first`, and then `second`. Precondition: no
/// bound is negative, and both objectives are bounded.
struct linear_program {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::int64_t> bounds;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
};

/// Numerators with one denominator.
struct exact_point {
  std::vector<boost::multiprecision::cpp_int> x;
  boost::multiprecision::cpp_int of = 1;
};

/// Entries are integers over the last pivot, which makes each division exact (Edmonds). By Bland's rule it
/// ends, at the same vertex on every machine.
class exact_simplex {
  using integer = boost::multiprecision::cpp_int;
  /// The constraints, then both objectives, negated; the last column has the bounds.
  std::vector<std::vector<integer>> rows_;
  /// Which variable belongs to a row, and to a column; those of the constraints come last.
  std::vector<std::size_t> basic_, others_;
  integer of_ = 1;

 public:
  explicit exact_simplex(const linear_program& p) {
    const std::size_t variables = p.first.size();
    for (std::size_t i = 0; i < p.rows.size(); ++i) {
      rows_.emplace_back(p.rows[i].begin(), p.rows[i].end()).emplace_back(p.bounds[i]);
      basic_.push_back(variables + i);
    }
    for (const auto* objective : {&p.first, &p.second}) {
      auto& row = rows_.emplace_back();
      for (const std::int64_t c : *objective) row.emplace_back(-c);
      row.emplace_back(0);
    }
    for (std::size_t v = 0; v < variables; ++v) others_.push_back(v);
  }

  [[nodiscard]] exact_point solve() {
    while (const auto column = entering()) pivot(leaving(*column), *column);
    exact_point point{std::vector<integer>(others_.size()), of_};
    for (std::size_t i = 0; i < basic_.size(); ++i) {
      if (basic_[i] < others_.size()) point.x[basic_[i]] = rows_[i].back();
    }
    return point;
  }

 private:
  /// Of the columns that improve the objectives, that of the first variable.
  [[nodiscard]] std::optional<std::size_t> entering() const {
    std::optional<std::size_t> best;
    const auto &first = *(rows_.end() - 2), &second = rows_.back();
    for (std::size_t c = 0; c < others_.size(); ++c) {
      const bool improves = first[c] < 0 || (first[c] == 0 && second[c] < 0);
      if (improves && (!best || others_[c] < others_[*best])) best = c;
    }
    return best;
  }
  /// The row that bounds a column most; of equal ones that of the first variable.
  [[nodiscard]] std::size_t leaving(std::size_t c) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < basic_.size(); ++i) {
      if (rows_[i][c] <= 0) continue;
      const int by =
          !best ? -1 : integer{rows_[i].back() * rows_[*best][c]}.compare(rows_[*best].back() * rows_[i][c]);
      if (by < 0 || (by == 0 && basic_[i] < basic_[*best])) best = i;
    }
    return best.value();
  }
  void pivot(std::size_t r, std::size_t c) {
    const integer by = rows_[r][c];
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == r) continue;
      const integer factor = std::exchange(rows_[i][c], 0);
      for (std::size_t k = 0; k < rows_[i].size(); ++k) {
        if (k != c) rows_[i][k] = (rows_[i][k] * by - factor * rows_[r][k]) / of_;
      }
      rows_[i][c] = -factor;
    }
    rows_[r][c] = std::exchange(of_, by);
    std::swap(basic_[r], others_[c]);
  }
};
