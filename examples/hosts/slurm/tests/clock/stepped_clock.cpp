// SPDX-License-Identifier: BSL-1.0
//
// To be preloaded (LD_PRELOAD): the wall clock of a program is off by the seconds in the file that
// STEPPED_CLOCK names, which may change at any time. The clocks that never step are left alone, as are the
// times of files.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace {

/// Read each time: daemons close files that they have not opened.
[[nodiscard]] long off_by() noexcept {
  const char* const path = std::getenv("STEPPED_CLOCK");
  if (path == nullptr) return 0;
  const int kept = errno;
  char text[32]{};
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (::read(file, text, sizeof text - 1) < 0) text[0] = '\0';
    ::close(file);
  }
  errno = kept;
  return std::strtol(text, nullptr, 10);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const int failed = static_cast<int>(::syscall(SYS_clock_gettime, clock, t));
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += off_by();
  return failed;
}

time_t time(time_t* to) noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  if (to != nullptr) *to = t.tv_sec;
  return t.tv_sec;
}

int gettimeofday(timeval* to, void*) noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  to->tv_sec = t.tv_sec;
  to->tv_usec = t.tv_nsec / 1000;
  return 0;
}

/// The kernel's clock is not off.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  using function = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
  timespec t = *until;
  t.tv_sec -= off_by();
  return real(condition, mutex, &t);
}

}  // extern "C"
