// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/io/atomic_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

namespace fs = std::filesystem;

std::string explain(std::string_view doing, const std::string& path, int error_number) {
  std::string text{doing};
  text.append(" ").append(path).append(": ").append(std::strerror(error_number));
  return text;
}

/// What must be removed if the program is interrupted. It is complete before the handler can see it, and does
/// not change while the handler can.
struct leftovers {
  vector<std::string> files;
  vector<std::string> directories;

  /// Calls only functions that are allowed in a signal handler.
  void remove() const noexcept {
    for (const std::string& f : files) ::unlink(f.c_str());
    for (const std::string& d : directories) ::rmdir(d.c_str());
  }
};

std::atomic<const leftovers*> to_remove{nullptr};
constexpr std::array interrupts{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> may_finish{false};
std::atomic<int> asked_by{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler may use them");

extern "C" void remove_and_exit(int signal_number) {
  int nobody = 0;
  if (may_finish.load() && asked_by.compare_exchange_strong(nobody, signal_number)) return;
  if (const leftovers* const left = to_remove.load()) left->remove();
  ::_exit(128 + signal_number);
}

void watch_interrupts() {
  // With a file size limit, writing too much is then an error like a full disk instead of a fatal signal.
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal_number : interrupts) {
    struct sigaction was {};
    ::sigaction(signal_number, nullptr, &was);
    // A program started in the background may have inherited that SIGINT or SIGHUP is ignored.
    if (was.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = remove_and_exit;
    ::sigaction(signal_number, &action, nullptr);
  }
}

/// Makes sure that an interrupted program leaves none of these files. They are stored for the lifetime of the
/// program, since the handler may read them at any time.
void guard(leftovers left) {
  static leftovers kept;
  to_remove.store(nullptr);
  kept = std::move(left);
  to_remove.store(&kept);
  watch_interrupts();
}
/// Blocks interrupts while files get their final names.
class uninterrupted {
 public:
  uninterrupted() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal_number : interrupts) sigaddset(&blocked, signal_number);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  uninterrupted(const uninterrupted&) = delete;
  uninterrupted& operator=(const uninterrupted&) = delete;
  ~uninterrupted() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Whether anything has that name, even a dangling link.
bool is_there(const std::string& path) {
  struct stat ignored {};
  return ::lstat(path.c_str(), &ignored) == 0;
}

/// Gives `from` the name `to`, which must not be taken.
int rename_to_new(const std::string& from, const std::string& to) {
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  // Not every file system can do both at once.
  if (is_there(to)) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// No process of Linux has a higher number.
constexpr unsigned process_bits = 22;

/// Above the number of the process stands one by chance: in containers that share a directory every process
/// may be number 1.
std::string partial_name(const std::string& of) {
  const std::uint64_t chance = std::random_device{}();
  const std::uint64_t process = static_cast<std::uint64_t>(::getpid());
  return of + std::string{partial_mark} + std::to_string((chance << process_bits) + process);
}

/// Takes the lock on a file or directory that is being written. Returns its descriptor, -1 if another has it
/// or the file system has none.
int lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}
void unlock(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// The process in the name of something partial; 0 if there is none.
::pid_t writer_of(std::string_view suffix) {
  std::uint64_t number = 0;
  const char* const end = suffix.data() + suffix.size();
  const auto [after, error] = std::from_chars(suffix.data(), end, number);
  if (error != std::errc{} || after != end) return 0;
  return static_cast<::pid_t>(number % (std::uint64_t{1} << process_bits));
}

/// Lets two directories change their names at once. Not every file system can do that.
bool change_names(const std::string& one, const std::string& other) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
#else
  static_cast<void>(one), static_cast<void>(other);
  return false;
#endif
}

/// Whether the directory has files of these names only, and no link leads to it.
bool has_only(const std::string& directory, const vector<std::string>& names) {
  std::error_code error;
  if (fs::is_symlink(directory, error)) return false;
  for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
    const bool is_known = std::find(names.begin(), names.end(), at->path().filename()) != names.end();
    if (!is_known || fs::is_directory(at->symlink_status(error))) return false;
  }
  return !error;
}

std::string already_there(const std::string& path) {
  return path + " exists: choose another name, or replace what an earlier run left there with --force";
}

}  // namespace

bool is_partial(std::string_view path) {
  const std::size_t mark = path.rfind(partial_mark);
  return mark != std::string_view::npos && writer_of(path.substr(mark + partial_mark.size())) != 0;
}

void remove_leftovers(const std::string& target, std::span<const std::string_view> names) {
  const fs::path path{without_slashes(target)};
  const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  remove_leftovers_in(
      above.string(), [&](const std::string& name) { return name == path.filename(); }, names);
}

void remove_leftovers_in(const std::string& directory,
                         const std::function<bool(const std::string&)>& is_target,
                         std::span<const std::string_view> names) {
  vector<std::string> left;
  std::error_code error;
  for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::size_t mark = name.rfind(partial_mark);
    if (mark == std::string::npos || !is_target(name.substr(0, mark))) continue;
    const ::pid_t writer = writer_of(std::string_view{name}.substr(mark + partial_mark.size()));
    // A process of another machine may have any number, also this one's; then it has the lock.
    const bool is_gone = writer != 0 && (writer == ::getpid() || (::kill(writer, 0) != 0 && errno == ESRCH));
    if (is_gone) left.push_back(at->path().string());
  }
  for (const std::string& l : left) {
    int descriptor = lock(l);
    if (descriptor < 0) continue;
    for (const std::string_view name : names) ::unlink((l + '/' + std::string{name}).c_str());
    names.empty() ? ::unlink(l.c_str()) : ::rmdir(l.c_str());
    unlock(descriptor);
  }
}

interruptible::interruptible() noexcept {
  asked_by.store(0);
  may_finish.store(true);
  watch_interrupts();
}
interruptible::~interruptible() {
  may_finish.store(false);
}
void interruptible::forget() noexcept {
  may_finish.store(false);
  asked_by.store(0);
  to_remove.store(nullptr);
  for (const int signal_number : interrupts) {
    struct sigaction was {};
    ::sigaction(signal_number, nullptr, &was);
    if (was.sa_handler != SIG_IGN) std::signal(signal_number, SIG_DFL);
  }
}
int interruptible::asked() noexcept {
  return asked_by.load(std::memory_order_relaxed);
}

output_file::output_file(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno, "can't make");
  text_.reserve(block + block / 4);
}
output_file output_file::existing(std::string path) {
  output_file file;
  file.path_ = std::move(path);
  file.descriptor_ = ::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) file.fail(errno, "can't write");
  return file;
}
output_file::output_file(output_file&& other) noexcept
    : path_(std::move(other.path_)),
      text_(std::move(other.text_)),
      problem_(std::move(other.problem_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}
output_file& output_file::operator=(output_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(text_, other.text_);
  std::swap(problem_, other.problem_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
output_file::~output_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void output_file::fail(int error_number, std::string_view doing) {
  if (problem_.empty()) problem_ = explain(doing, path_, error_number);
}

void output_file::flush() {
  std::string_view rest = text_;
  while (!rest.empty() && problem_.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail(errno, "can't write");
    }
  }
  text_.clear();
}

std::string output_file::close() {
  flush();
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0) fail(errno, "can't write");
  return problem_;
}

std::string atomic_directory::open(std::string target, std::span<const std::string_view> names, bool force) {
  target = without_slashes(std::move(target));
  if (target.empty()) return "the output directory has no name";
  const fs::path last = fs::path{target}.filename();
  if (last == "." || last == ".." || target == "/") {
    return target + " can't be the output directory: it must be one of its own";
  }
  if (is_there(target)) {
    std::error_code error;
    if (!force) return already_there(target);
    if (!fs::is_directory(target, error)) return target + " is not a directory";
  }
  target_ = std::move(target);
  path_ = partial_name(target_);
  names_.assign(names.begin(), names.end());
  force_ = force;

  vector<std::string> above;
  for (fs::path p = fs::path{target_}.parent_path(); !p.empty() && !is_there(p.string());
       p = p.parent_path()) {
    above.push_back(p.string());
  }
  leftovers left;
  for (const std::string& name : names_) left.files.push_back(path_of(name));
  left.directories.push_back(path_);
  left.directories.append(above.begin(), above.end());
  guard(std::move(left));

  is_open_ = true;
  for (auto p = above.rbegin(); p != above.rend(); ++p) {
    if (::mkdir(p->c_str(), 0777) != 0 && errno != EEXIST) {
      const int error_number = errno;
      const std::string failed = *p;
      abandon();
      return explain("can't make the directory", failed, error_number);
    }
    made_.insert(made_.begin(), *p);
  }
  if (::mkdir(path_.c_str(), 0777) != 0) {
    const int error_number = errno;
    const std::string failed = path_;
    abandon();
    return explain("can't make the directory", failed, error_number);
  }
  lock_ = lock(path_);
  return {};
}

atomic_directory::~atomic_directory() {
  abandon();
}

std::string atomic_directory::path_of(std::string_view name) const {
  std::string path = path_;
  path.append("/").append(name);
  return path;
}

void atomic_directory::abandon() {
  unlock(lock_);
  if (!std::exchange(is_open_, false)) return;
  for (const std::string& name : names_) ::unlink(path_of(name).c_str());
  ::rmdir(path_.c_str());
  // Only directories that are still empty are removed.
  for (const std::string& directory : made_) ::rmdir(directory.c_str());
  to_remove.store(nullptr);
}

std::string atomic_directory::publish() {
  const uninterrupted now;
  const int error_number = rename_to_new(path_, target_);
  if (error_number == 0) {
    unlock(lock_);
    is_open_ = false;
    to_remove.store(nullptr);
    return {};
  }
  std::string problem;
  if (error_number != EEXIST && error_number != ENOTEMPTY) {
    problem = explain("can't make the directory", target_, error_number);
  } else {
    problem = force_ ? replace_files() : already_there(target_);
  }
  abandon();
  return problem;
}

std::string atomic_directory::replace_files() {
  struct stat old {};
  const bool is_ours = ::lstat(target_.c_str(), &old) == 0 && old.st_uid == ::geteuid();
  if (is_ours && has_only(target_, names_) && ::chmod(path_.c_str(), old.st_mode & 07777U) == 0 &&
      change_names(path_, target_)) {
    return {};
  }
  // Other files are there, too. Another run that replaces these has to wait, or they would mix.
  int held = ::open(target_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (held >= 0) ::flock(held, LOCK_EX);
  std::string problem = replace_one_by_one();
  unlock(held);
  return problem;
}

std::string atomic_directory::replace_one_by_one() {
  for (const std::string& name : names_) {
    const std::string in_the_way = target_ + "/" + name;
    std::error_code error;
    if (fs::is_directory(fs::symlink_status(in_the_way, error))) {
      return explain("can't replace", in_the_way, EISDIR);
    }
  }
  // First the old files go, the last one before all others: without it the directory is no run. So whenever
  // this is killed, the files of two runs are never mistaken for one.
  for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
    const std::string old = target_ + "/" + *name;
    if (::unlink(old.c_str()) != 0 && errno != ENOENT) return explain("can't replace", old, errno);
  }
  for (const std::string& name : names_) {
    const std::string from = path_of(name);
    const std::string to = target_ + "/" + name;
    if (is_there(from) && ::rename(from.c_str(), to.c_str()) != 0) return explain("can't make", to, errno);
  }
  return {};
}

std::string atomic_file::open(const std::string& target, bool force) {
  if (target.empty()) return "the file has no name";
  target_ = target;
  force_ = force;
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (fs::is_directory(status)) return target + " is a directory";
    file_ = output_file::existing(target);
    return {};
  }
  if (!force && is_there(target)) return already_there(target);
  partial_ = partial_name(target);
  guard({{partial_}, {}});
  remove_leftovers(target, {});
  file_ = output_file{partial_};
  lock_ = lock(partial_);
  return {};
}

atomic_file::~atomic_file() {
  abandon();
}

void atomic_file::abandon() {
  unlock(lock_);
  if (partial_.empty()) return;
  ::unlink(partial_.c_str());
  partial_.clear();
  to_remove.store(nullptr);
}

std::string atomic_file::publish() {
  std::string problem = file_.close();
  if (partial_.empty()) return problem;
  const uninterrupted now;
  if (problem.empty()) {
    const int error_number = !force_ ? rename_to_new(partial_, target_)
                             : ::rename(partial_.c_str(), target_.c_str()) == 0 ? 0
                                                                                : errno;
    if (error_number == 0) {
      unlock(lock_);
      partial_.clear();
      to_remove.store(nullptr);
      return {};
    }
    problem = error_number == EEXIST ? already_there(target_) : explain("can't make", target_, error_number);
  }
  abandon();
  return problem;
}

std::string output_target::open(const std::string& target, bool force) {
  is_file_ = target != "-";
  if (is_file_ && is_called_packed(target)) {
    packer_.emplace();
    if (std::string problem = packer_->problem(); !problem.empty()) return target + ": " + problem;
  }
  return is_file_ ? file_.open(target, force) : std::string{};
}

void output_target::flush_standard_output() {
  if (problem_.empty() && std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size()) {
    problem_ = std::string{"can't write to standard output: "} + std::strerror(errno);
  }
  text_.clear();
}

void output_target::flush_if_full() {
  constexpr std::size_t block = std::size_t{1} << 18U;
  if (packer_ && text_.size() >= block) {
    packer_->pack(text_, false, file_.text());
    text_.clear();
  }
  if (is_file_) {
    file_.flush_if_full();
  } else if (text_.size() >= block) {
    flush_standard_output();
  }
}

std::string output_target::publish() {
  if (packer_) packer_->pack(text_, true, file_.text());
  if (is_file_) return file_.publish();
  flush_standard_output();
  if (problem_.empty() && std::fflush(stdout) != 0) {
    problem_ = std::string{"can't write to standard output: "} + std::strerror(errno);
  }
  return problem_;
}

std::string publish_file(const std::string& path, std::string_view text, bool force) {
  atomic_file file;
  std::string problem = file.open(path, force);
  if (!problem.empty()) return problem;
  file.text() = text;
  return file.publish();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
