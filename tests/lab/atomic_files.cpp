// SPDX-License-Identifier: BSL-1.0
#include "lab/io/atomic_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "tests/lab/scratch.hpp"

namespace {

namespace fs = std::filesystem;
using allot::lab::atomic_directory;
using allot::lab::output_file;
using allot::lab::publish_file;
using allot_test::scratch;

constexpr std::array<std::string_view, 2> names = {"one", "two"};

std::set<std::string> files_in(const std::string& directory) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator{directory}) found.insert(entry.path().filename().string());
  return found;
}

std::string read(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
void write(const std::string& path, std::string_view text) {
  output_file file{path};
  file.text() = text;
  REQUIRE(file.close().empty());
}

}  // namespace

TEST_CASE("atomic files: files appear all at once") {
  const scratch in;
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, false).empty());
  write(s.path_of("one"), "1");
  CHECK_FALSE(fs::exists(in.path_of("run")));
  write(s.path_of("two"), "2");
  REQUIRE(s.publish().empty());
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"run"});
  CHECK(files_in(in.path_of("run")) == std::set<std::string>{"one", "two"});
  CHECK(read(in.path_of("run/two")) == "2");
}

TEST_CASE("atomic files: unpublished output is removed, with the directories made for it") {
  const scratch in;
  {
    atomic_directory s;
    REQUIRE(s.open(in.path_of("a/b/run/"), names, false).empty());
    write(s.path_of("one"), "1");
    CHECK(fs::exists(in.path_of("a/b")));
  }
  CHECK(files_in(in.path_of("")).empty());
}

TEST_CASE("atomic files: a directory that appears meanwhile is not touched") {
  const scratch in;
  for (const bool empty : {true, false}) {
    const std::string name = empty ? "empty" : "full";
    atomic_directory s;
    REQUIRE(s.open(in.path_of(name), names, false).empty());
    write(s.path_of("one"), "mine");
    fs::create_directory(in.path_of(name));
    if (!empty) write(in.path_of(name + "/one"), "theirs");
    CHECK(s.publish().find("exists") != std::string::npos);
    CHECK(files_in(in.path_of(name)) == (empty ? std::set<std::string>{} : std::set<std::string>{"one"}));
    if (!empty) CHECK(read(in.path_of(name + "/one")) == "theirs");
  }
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"empty", "full"});
}

TEST_CASE("atomic files: with force, only files of an earlier run are replaced") {
  const scratch in;
  fs::create_directory(in.path_of("run"));
  write(in.path_of("run/one"), "old");
  write(in.path_of("run/two"), "old");
  write(in.path_of("run/notes"), "keep");
  atomic_directory refused;
  CHECK(refused.open(in.path_of("run"), names, false).find("--force") != std::string::npos);
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, true).empty());
  write(s.path_of("one"), "new");
  CHECK(read(in.path_of("run/one")) == "old");
  REQUIRE(s.publish().empty());
  // The other file was not written this time, so it would belong to another run.
  CHECK(files_in(in.path_of("run")) == std::set<std::string>{"notes", "one"});
  CHECK(read(in.path_of("run/one")) == "new");
  CHECK(read(in.path_of("run/notes")) == "keep");
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"run"});
}

TEST_CASE("atomic files: by force, a directory that has nothing else is replaced at once, with its mode") {
  const scratch in;
  fs::create_directory(in.path_of("run"));
  fs::permissions(in.path_of("run"), fs::perms::owner_all);
  write(in.path_of("run/one"), "old");
  write(in.path_of("run/two"), "old");
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, true).empty());
  write(s.path_of("one"), "new");
  struct stat staged {};
  REQUIRE(::stat(s.path_of("").c_str(), &staged) == 0);
  REQUIRE(s.publish().empty());
  struct stat published {};
  REQUIRE(::stat(in.path_of("run").c_str(), &published) == 0);
  CHECK(published.st_ino == staged.st_ino);
  CHECK(fs::status(in.path_of("run")).permissions() == fs::perms::owner_all);
  CHECK(files_in(in.path_of("run")) == std::set<std::string>{"one"});
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"run"});
}

TEST_CASE("atomic files: by force, nothing goes where something can't be replaced") {
  const scratch in;
  fs::create_directories(in.path_of("run/one"));
  write(in.path_of("run/two"), "old");
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, true).empty());
  write(s.path_of("one"), "new");
  write(s.path_of("two"), "new");
  CHECK(s.publish().find("Is a directory") != std::string::npos);
  CHECK(read(in.path_of("run/two")) == "old");
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"run"});
}

TEST_CASE("atomic files: a link to a directory stays one") {
  const scratch in;
  fs::create_directory(in.path_of("there"));
  write(in.path_of("there/one"), "old");
  fs::create_directory_symlink(in.path_of("there"), in.path_of("run"));
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, true).empty());
  write(s.path_of("one"), "new");
  REQUIRE(s.publish().empty());
  CHECK(fs::is_symlink(in.path_of("run")));
  CHECK(read(in.path_of("there/one")) == "new");
}

TEST_CASE("atomic files: what a killed run left goes, also if this process has its number") {
  const scratch in;
  // In a container every run may be process 1.
  const std::string left = in.path_of("run.partial-") + std::to_string(::getpid());
  fs::create_directory(left);
  write(left + "/one", "half");
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), names, false).empty());
  allot::lab::remove_leftovers(in.path_of("run"), names);
  CHECK_FALSE(fs::exists(left));
  CHECK(allot::lab::is_partial(s.path_of("").substr(0, s.path_of("").size() - 1)));
  CHECK(fs::exists(s.path_of("")));
}

TEST_CASE("atomic files: paths that are refused") {
  const scratch in;
  write(in.path_of("file"), "x");
  fs::create_symlink(in.path_of("nowhere"), in.path_of("link"));
  for (const std::string name : {"file", "file/run", "link", ".", ".."}) {
    INFO(name);
    atomic_directory s;
    CHECK_FALSE(s.open(in.path_of(name), names, false).empty());
    atomic_directory by_force;
    CHECK_FALSE(by_force.open(in.path_of(name), names, true).empty());
  }
  atomic_directory s;
  CHECK_FALSE(s.open("", names, true).empty());
  CHECK_FALSE(s.open("/", names, true).empty());
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"file", "link"});
}

TEST_CASE("atomic files: a file reports its first error once") {
  const scratch in;
  output_file nowhere{in.path_of("no/where")};
  nowhere.text() = "x";
  CHECK(nowhere.close().find("No such file") != std::string::npos);
  write(in.path_of("there"), "x");
  output_file there{in.path_of("there")};
  CHECK(there.close().find("File exists") != std::string::npos);
  CHECK(read(in.path_of("there")) == "x");
  output_file full{"/dev/full"};
  CHECK_FALSE(full.close().empty());
}

TEST_CASE("atomic files: a long file is complete") {
  const scratch in;
  std::string expected;
  output_file file{in.path_of("long")};
  for (std::size_t i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + '\n';
    expected += line;
    file.text() += line;
    file.flush_if_full();
  }
  REQUIRE(file.close().empty());
  CHECK(read(in.path_of("long")) == expected);
}

TEST_CASE("atomic files: a single file is published in the same way") {
  const scratch in;
  CHECK(publish_file(in.path_of("f"), "1", false).empty());
  CHECK(publish_file(in.path_of("f"), "2", false).find("--force") != std::string::npos);
  CHECK(read(in.path_of("f")) == "1");
  CHECK(publish_file(in.path_of("f"), "3", true).empty());
  CHECK(read(in.path_of("f")) == "3");
  CHECK_FALSE(publish_file(in.path_of("no/where"), "4", false).empty());
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"f"});
}

TEST_CASE("atomic files: while it is interruptible, the first interrupt only asks to stop") {
  using allot::lab::interruptible;
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const interruptible now;
    CHECK(interruptible::asked() == 0);
    std::raise(signal_number);
    CHECK(interruptible::asked() == signal_number);
  }
  // What was asked is known until the next begins.
  CHECK(interruptible::asked() == SIGTERM);
  const interruptible again;
  CHECK(interruptible::asked() == 0);
}

TEST_CASE("atomic files: the file that makes a directory a run is removed first and written last") {
  const scratch in;
  fs::create_directory(in.path_of("run"));
  // Something else is there, too, and makes removing the other file fail.
  write(in.path_of("run/notes"), "keep");
  write(in.path_of("run/two"), "old");
  constexpr std::array<std::string_view, 2> in_the_way = {"notes/one", "two"};
  atomic_directory s;
  REQUIRE(s.open(in.path_of("run"), in_the_way, true).empty());
  write(s.path_of("two"), "2");
  CHECK(s.publish().find("can't replace") == 0);
  CHECK(files_in(in.path_of("run")) == std::set<std::string>{"notes"});
  CHECK(files_in(in.path_of("")) == std::set<std::string>{"run"});
}
