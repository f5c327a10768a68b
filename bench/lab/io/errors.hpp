// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The exit status of a program whose input was wrong.
inline constexpr int bad_input_status = 2;

/// Errors in the input, in the order in which they were found. Reading continues after an error, so that the
/// user sees all of them at once.
class errors {
 public:
  /// Enough for any reader; further errors are only counted.
  static constexpr std::size_t most_kept = 50;

  struct error {
    std::string file;
    /// A JSON pointer, "line 3, column 9", or empty if the error concerns the whole file.
    std::string place;
    /// What is wrong and what was expected.
    std::string text;

    friend bool operator==(const error&, const error&) = default;
  };

  void add(std::string_view file, std::string_view place, std::string text) {
    if (++count_ <= most_kept) kept_.push_back({std::string{file}, std::string{place}, std::move(text)});
  }

  void add_all(const errors& others) {
    for (const error& e : others.kept_) add(e.file, e.place, e.text);
    count_ += others.count_ - others.kept_.size();
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// The first `most_kept`.
  [[nodiscard]] const vector<error>& kept() const noexcept { return kept_; }

  /// One line each: "file: place: text", as a terminal can show it.
  [[nodiscard]] std::string to_string() const;

 private:
  vector<error> kept_;
  std::size_t count_ = 0;
};

/// Prints what is wrong on standard error; `command` is the prefix of the message. Returns the exit status.
int complain(const errors& found);
int complain(std::string_view problem, std::string_view command = "allot");

}  // namespace lab
}  // namespace v0
}  // namespace allot
