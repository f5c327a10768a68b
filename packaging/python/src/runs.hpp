// SPDX-License-Identifier: BSL-1.0
// Replays for Python: what `allot replay` does, without its output to a terminal and its handling of signals.
#pragma once

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/scenario/scenario.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace allot_python {

namespace lab = allot::lab;

/// Everything that is wrong with the input.
class input_error : public std::exception {
 public:
  explicit input_error(lab::errors found) : found_(std::move(found)), text_(found_.to_string()) {}

  [[nodiscard]] const lab::errors& found() const noexcept { return found_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  lab::errors found_;
  std::string text_;
};
/// A file that can't be written.
class output_error : public std::exception {
 public:
  explicit output_error(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// What is simulated. All are as on the command line of `allot replay`; what is empty is not given.
struct run_input {
  /// The path of a scenario, or the name in messages of one that is given as text.
  std::string scenario{};
  std::optional<std::string> scenario_text{};
  std::string trace{};
  std::string nodes{};
  /// The name of a policy, or its JSON, as in a scenario.
  std::string policy{};
  std::string policy_json{};
  /// It is decided from outside, by `stepper`.
  bool is_stepped = false;
};
/// Reads the scenario. Throws `input_error`.
[[nodiscard]] lab::scenario read(const run_input& input);

struct run_options {
  std::optional<std::uint64_t> seed{};
  std::string until{};
  std::optional<std::uint64_t> max_queue{};
  std::string max_time{};
  std::string tenants_step{};
  std::string window{};
  std::string warm_up{};
  bool no_drain = false;
  bool isolated = false;
  bool report = true;
};

/// One simulation, whose files are written to an empty directory: summary.json, jobs.csv, tenants.csv,
/// events.csv and, if wanted, report.html.
class run {
 public:
  /// Throws `input_error`.
  run(const run_input& input, const run_options& options, std::string directory);

  [[nodiscard]] const lab::scenario& of() const noexcept { return scenario_; }
  /// May be changed while it is simulated, by what runs inside of it.
  [[nodiscard]] lab::replay_control& control() noexcept { return control_; }

  /// To be called once.
  void simulate();
  /// After that: throws `input_error` if a running job has no place or a change of the quotas is invalid.
  void check() const;
  /// To be called once, after that: checks, and writes the files. Throws `output_error` if one can't be
  /// written.
  void conclude();
  /// Afterwards: the main figures and what else should be said, as text.
  [[nodiscard]] std::string headline() const;
  [[nodiscard]] std::string warnings() const;

 private:
  [[nodiscard]] std::string path_of(const char* name) const { return directory_ + '/' + name; }

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string directory_;
  lab::scenario scenario_;
  bool report_;
  lab::replay_control control_{};
  lab::replay_result result_{};
  lab::replay_stop stop_{};
  lab::output_file tenants_{};
  lab::output_file events_{};
};

/// While it exists, the first SIGINT only asks simulations to stop, which then end as if at that time.
class interruptible_by_python {
 public:
  interruptible_by_python();
  interruptible_by_python(const interruptible_by_python&) = delete;
  interruptible_by_python& operator=(const interruptible_by_python&) = delete;
  ~interruptible_by_python();

  [[nodiscard]] static bool was_asked() noexcept;
};

}  // namespace allot_python
