// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/csv.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The messages of an import, on standard error (or elsewhere): rows that are left out, with place and
/// reason, and notes on what could not be carried over unchanged.
class import_log {
 public:
  /// `file` is the name of the input in messages; the first `shown` rows that are left out are reported.
  import_log(std::string file, std::size_t shown, std::FILE* to = stderr);
  /// The same messages, each without file and line end, go to `sink`.
  explicit import_log(std::function<void(std::string line)> sink) : sink_(std::move(sink)) {}

  /// Reports a row that is left out, and everything that is wrong with it.
  void reject(std::span<const text_problem> problems);
  /// The same for one of a file without lines; `where` says which.
  void reject(std::string_view where, std::string_view text);
  [[nodiscard]] std::size_t rejected() const noexcept { return rejected_; }
  /// Reports the error that ends the import.
  void fail(std::string_view place, std::string_view text);
  /// Reports something about the result; `where` is the object and field that it concerns, or empty.
  void note(std::string_view where, std::string_view text);
  /// Notes that `n` jobs are left out: "5 jobs without GPUs are left out", and then `after`. Nothing if n is
  /// 0.
  void leave_out(std::size_t n, std::string_view one, std::string_view several, std::string_view after = {});
  /// How many of what the file has are left out, rejected or noted.
  [[nodiscard]] std::size_t left_out() const noexcept { return rejected_ + noted_; }
  /// "... and 12 more rows are left out", if there were more than are shown.
  void finish() const;

 private:
  void print(std::string_view place, std::string_view text) const;

  std::function<void(std::string line)> sink_;
  std::size_t shown_ = 0;
  std::size_t rejected_ = 0;
  std::size_t noted_ = 0;
};

/// "1 pod that was", "12 pods that were": a number and its noun, in singular or plural.
[[nodiscard]] inline std::string counted(std::size_t n, std::string_view one, std::string_view several) {
  return std::to_string(n).append(" ").append(n == 1 ? one : several);
}

/// How many there are, and what the first of them are called, for a note.
class named_count {
 public:
  /// Adds `n` of that name.
  void add(std::string_view name, std::size_t n = 1) {
    count_ += n;
    if (++names_ > most_names) return;
    shown_.append(names_ == 1 ? "" : ", ").append(name);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The first name.
  [[nodiscard]] std::string_view first() const noexcept {
    return std::string_view{shown_}.substr(0, shown_.find(','));
  }
  /// "4 jobs (a, b, c, ...)"
  [[nodiscard]] std::string text(std::string_view one, std::string_view several) const {
    return counted(count_, one, several) + ' ' + names();
  }
  /// "(a, b, c, ...)"
  [[nodiscard]] std::string names() const { return '(' + shown_ + (names_ > most_names ? ", ...)" : ")"); }

 private:
  static constexpr std::size_t most_names = 3;

  std::size_t count_ = 0;
  std::size_t names_ = 0;
  std::string shown_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
