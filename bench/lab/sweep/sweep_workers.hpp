// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// How many cores this process may use, at least 1.
[[nodiscard]] std::size_t usable_cores();

/// Runs pieces of work in separate processes, so that a crash affects only one of them.
class worker_pool {
 public:
  explicit worker_pool(std::size_t most) : most_(most) {}
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  /// Ends the processes that are still running.
  ~worker_pool();

  struct outcome {
    std::size_t work = 0;
    /// The exit status of the process, or 128 + the number of the signal that ended it.
    int status = 0;
    /// What it wrote to standard error, without the last line break.
    std::string said{};
  };

  [[nodiscard]] bool has_room() const noexcept { return running_.size() < most_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
  /// Starts the piece of work `number` in a process that exits with what `work` returns. Returns whether the
  /// process could be started. Precondition: there is room.
  [[nodiscard]] bool begin(std::size_t number, const std::function<int()>& work);
  /// Calls `take(outcome)` for all that have ended.
  void collect(const std::function<void(const outcome&)>& take);
  /// Asks all running processes to end.
  void interrupt();

 private:
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  struct worker {
    pid_t process = 0;
    std::size_t work = 0;
    /// An unnamed file; null if it could not be created.
    std::unique_ptr<std::FILE, closer> said;
  };

  [[nodiscard]] static std::string text_of(std::FILE* file);

  std::size_t most_;
  vector<worker> running_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
