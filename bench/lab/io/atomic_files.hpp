// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/packed_output.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A file that is being written. After the first failure it writes nothing more; `close` returns the error.
class output_file {
 public:
  output_file() = default;
  /// Creates the file, which must not exist.
  explicit output_file(std::string path);
  /// Opens something that exists and is not a regular file.
  [[nodiscard]] static output_file existing(std::string path);
  output_file(output_file&& other) noexcept;
  output_file& operator=(output_file&& other) noexcept;
  ~output_file();

  /// The file was not opened: what is written to it is lost.
  [[nodiscard]] bool is_nowhere() const noexcept { return path_.empty(); }
  /// The text to be written next: append to it, and call `flush_if_full` now and then.
  [[nodiscard]] std::string& text() noexcept { return text_; }
  void flush_if_full() {
    if (text_.size() >= block) flush();
  }
  /// Writes the rest. Returns the first error since the file was created, or an empty string.
  [[nodiscard]] std::string close();

 private:
  static constexpr std::size_t block = std::size_t{1} << 18U;

  void flush();
  void fail(int error_number, std::string_view doing);

  std::string path_;
  std::string text_;
  std::string problem_;
  int descriptor_ = -1;
};

/// While it exists, the first interrupt (SIGINT, SIGTERM or SIGHUP) only asks the program to stop: `asked`
/// then returns its number. The second one ends the program, as the first one normally does. Only one at a
/// time, and only while there is a `atomic_directory`, which handles the signals.
class interruptible {
 public:
  interruptible() noexcept;
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;
  ~interruptible();

  /// 0 if no interrupt has arrived. Costs one load.
  [[nodiscard]] static int asked() noexcept;
  /// In a new process: the first interrupt ends it, whatever the parent wanted.
  static void forget() noexcept;
};

/// What follows the final name while something is written. A number follows that tells the process.
inline constexpr std::string_view partial_mark = ".partial-";
/// Whether the path has the name of something that is being written, or was when its writer was killed.
[[nodiscard]] bool is_partial(std::string_view path);

/// Removes what killed runs left of `target` under their other names: of a directory the files `names`, or a
/// file, if there are no names. What is still being written stays.
void remove_leftovers(const std::string& target, std::span<const std::string_view> names);
/// The same for every target in that directory whose name `is_target` admits.
void remove_leftovers_in(const std::string& directory,
                         const std::function<bool(const std::string&)>& is_target,
                         std::span<const std::string_view> names);

/// A directory that appears under its name with all of its files at once, or not at all: it is filled under
/// another name beside the final one ("runs/a.partial-4711") and then renamed. If the program is interrupted
/// (SIGINT, SIGTERM, SIGHUP; but see `interruptible`) or this object is destroyed before `publish`, nothing
/// is left. Only one at a time.
class atomic_directory {
 public:
  atomic_directory() = default;
  atomic_directory(const atomic_directory&) = delete;
  atomic_directory& operator=(const atomic_directory&) = delete;
  ~atomic_directory();

  /// Creates it, and its parent directories. `names` are all files that a run may ever leave there: with
  /// `force` the directory may exist, and only those files are replaced. The last of them is the one that
  /// makes the directory a run. Returns an error message, or an empty string.
  [[nodiscard]] std::string open(std::string target, std::span<const std::string_view> names, bool force);
  /// The path for writing one of the files.
  [[nodiscard]] std::string path_of(std::string_view name) const;
  /// Gives the files their final names. Those in `names` that were not written are removed if an earlier run
  /// left them. Returns an error message, or an empty string; on an error the files are removed.
  [[nodiscard]] std::string publish();

 private:
  /// Puts them in the place of an earlier run's: all at once if the directory has no other files.
  [[nodiscard]] std::string replace_files();
  [[nodiscard]] std::string replace_one_by_one();
  void abandon();

  std::string target_;
  std::string path_;
  vector<std::string> names_;
  /// Parent directories that were created for it, the lowest first.
  vector<std::string> made_;
  /// Held while it is filled, so that no other run takes it for what a killed run left.
  int lock_ = -1;
  bool force_ = false;
  bool is_open_ = false;
};

/// A file that appears under its name complete, or not at all: it is written under another name beside the
/// final one and then renamed. If the program is interrupted or this object is destroyed before `publish`,
/// nothing is left. An existing target that is not a regular file (a pipe, /dev/null) is written to directly.
/// Only one at a time.
class atomic_file {
 public:
  atomic_file() = default;
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file();

  /// Creates it. It may exist only with `force`. Returns an error message, or an empty string.
  [[nodiscard]] std::string open(const std::string& target, bool force);
  /// The text to be written next: append to it, and call `flush_if_full` now and then.
  [[nodiscard]] std::string& text() noexcept { return file_.text(); }
  void flush_if_full() { file_.flush_if_full(); }
  /// Writes the rest and gives the file its name. Returns the first error since it was created, or an empty
  /// string; on an error there is no file.
  [[nodiscard]] std::string publish();

 private:
  void abandon();

  output_file file_;
  std::string target_;
  /// Its name until then; empty if the target is written to directly.
  std::string partial_;
  /// As of a `atomic_directory`.
  int lock_ = -1;
  bool force_ = false;
};

/// Where a command writes its only result: a file that appears at once, packed with gzip if its name ends in
/// ".gz", or standard output if the name is "-".
class output_target {
 public:
  /// Returns an error message, or an empty string.
  [[nodiscard]] std::string open(const std::string& target, bool force);
  [[nodiscard]] std::string& text() noexcept { return is_file_ && !packer_ ? file_.text() : text_; }
  void flush_if_full();
  /// Writes the rest. Returns the first error since it was opened, or an empty string.
  [[nodiscard]] std::string publish();

 private:
  void flush_standard_output();

  atomic_file file_;
  std::optional<gzip_packer> packer_;
  /// Text for standard output, or to be packed.
  std::string text_;
  std::string problem_;
  bool is_file_ = false;
};

/// Writes a whole file that appears at once or not at all. It may exist only with `force`. Returns an error
/// message, or an empty string.
[[nodiscard]] std::string publish_file(const std::string& path, std::string_view text, bool force);

}  // namespace lab
}  // namespace v0
}  // namespace allot
