// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/sweep_workers.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/terminal.hpp"

#include <sched.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// More than anyone reads about why a piece of work failed.
constexpr std::size_t most_said = 4000;

}  // namespace

std::size_t usable_cores() {
#ifdef CPU_COUNT
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  }
#endif
  return static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

worker_pool::~worker_pool() {
  interrupt();
  for (const worker& w : running_) {
    while (::waitpid(w.process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

bool worker_pool::begin(std::size_t number, const std::function<int()>& work) {
  worker w{0, number, std::unique_ptr<std::FILE, closer>{std::tmpfile()}};
  // Buffered output would be written twice.
  std::fflush(stdout);
  std::fflush(stderr);
  [[maybe_unused]] const ::pid_t parent = ::getpid();
  // A signal for the new process must not meet the parent's state in it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  w.process = ::fork();
  if (w.process == 0) {
    interruptible::forget();
#ifdef __linux__
    // Without the parent nobody wants the result.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);
#endif
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (w.process < 0) return false;
  if (w.process > 0) {
    running_.push_back(std::move(w));
    return true;
  }
  if (w.said) ::dup2(::fileno(w.said.get()), STDERR_FILENO);
  int status = 1;
  try {
    status = work();
  } catch (const std::exception& e) {
    print_error(std::string{e.what()} + '\n');
  }
  std::fflush(stdout);
  std::fflush(stderr);
  // Nothing of the parent is cleaned up here.
  ::_exit(status);
}

void worker_pool::collect(const std::function<void(const outcome&)>& take) {
  for (std::size_t i = 0; i < running_.size();) {
    int status = 0;
    const pid_t ended = ::waitpid(running_[i].process, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
      ++i;
      continue;
    }
    const worker w = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    outcome o{w.work};
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    if (w.said) o.said = text_of(w.said.get());
    take(o);
  }
}

void worker_pool::interrupt() {
  for (const worker& w : running_) ::kill(w.process, SIGTERM);
}

std::string worker_pool::text_of(std::FILE* file) {
  std::rewind(file);
  std::string text(most_said, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
