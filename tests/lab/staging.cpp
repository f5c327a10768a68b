// SPDX-License-Identifier: BSL-1.0
#include "lab/staging.hpp"

#include <doctest/doctest.h>

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

namespace {

namespace fs = std::filesystem;
using allot::lab::output_file;
using allot::lab::publish_file;
using allot::lab::staging_directory;

constexpr std::array<std::string_view, 2> names = {"one", "two"};

struct scratch {
  fs::path path = fs::temp_directory_path() / ("allot-staging-" + std::to_string(::getpid()));

  scratch() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { fs::remove_all(path); }

  [[nodiscard]] std::string at(const std::string& name) const { return (path / name).string(); }
  [[nodiscard]] std::set<std::string> files(const std::string& of = {}) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator{path / of})
      found.insert(entry.path().filename().string());
    return found;
  }
};

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

TEST_CASE("staging: nothing has its name before everything has") {
  const scratch in;
  staging_directory s;
  REQUIRE(s.open(in.at("run"), names, false).empty());
  write(s.path_of("one"), "1");
  CHECK_FALSE(fs::exists(in.at("run")));
  write(s.path_of("two"), "2");
  REQUIRE(s.publish().empty());
  CHECK(in.files() == std::set<std::string>{"run"});
  CHECK(in.files("run") == std::set<std::string>{"one", "two"});
  CHECK(read(in.at("run/two")) == "2");
}

TEST_CASE("staging: what was not published is gone, with the directories that were made for it") {
  const scratch in;
  {
    staging_directory s;
    REQUIRE(s.open(in.at("a/b/run/"), names, false).empty());
    write(s.path_of("one"), "1");
    CHECK(fs::exists(in.at("a/b")));
  }
  CHECK(in.files().empty());
}

TEST_CASE("staging: a directory that comes while it works is not touched") {
  const scratch in;
  for (const bool empty : {true, false}) {
    const std::string name = empty ? "empty" : "full";
    staging_directory s;
    REQUIRE(s.open(in.at(name), names, false).empty());
    write(s.path_of("one"), "mine");
    fs::create_directory(in.at(name));
    if (!empty) write(in.at(name + "/one"), "theirs");
    CHECK(s.publish().find("exists") != std::string::npos);
    CHECK(in.files(name) == (empty ? std::set<std::string>{} : std::set<std::string>{"one"}));
    if (!empty) CHECK(read(in.at(name + "/one")) == "theirs");
  }
  CHECK(in.files() == std::set<std::string>{"empty", "full"});
}

TEST_CASE("staging: by force, what an earlier run left is replaced, and nothing else") {
  const scratch in;
  fs::create_directory(in.at("run"));
  write(in.at("run/one"), "old");
  write(in.at("run/two"), "old");
  write(in.at("run/notes"), "keep");
  staging_directory refused;
  CHECK(refused.open(in.at("run"), names, false).find("--force") != std::string::npos);
  staging_directory s;
  REQUIRE(s.open(in.at("run"), names, true).empty());
  write(s.path_of("one"), "new");
  CHECK(read(in.at("run/one")) == "old");
  REQUIRE(s.publish().empty());
  // The other file was not written this time, so it would tell of another run.
  CHECK(in.files("run") == std::set<std::string>{"notes", "one"});
  CHECK(read(in.at("run/one")) == "new");
  CHECK(read(in.at("run/notes")) == "keep");
  CHECK(in.files() == std::set<std::string>{"run"});
}

TEST_CASE("staging: what can't be a directory") {
  const scratch in;
  write(in.at("file"), "x");
  fs::create_symlink(in.at("nowhere"), in.at("link"));
  for (const std::string name : {"file", "file/run", "link", ".", ".."}) {
    INFO(name);
    staging_directory s;
    CHECK_FALSE(s.open(in.at(name), names, false).empty());
    staging_directory by_force;
    CHECK_FALSE(by_force.open(in.at(name), names, true).empty());
  }
  staging_directory s;
  CHECK_FALSE(s.open("", names, true).empty());
  CHECK_FALSE(s.open("/", names, true).empty());
  CHECK(in.files() == std::set<std::string>{"file", "link"});
}

TEST_CASE("staging: a file says what went wrong, once") {
  const scratch in;
  output_file nowhere{in.at("no/where")};
  nowhere.text() = "x";
  CHECK(nowhere.close().find("No such file") != std::string::npos);
  write(in.at("there"), "x");
  output_file there{in.at("there")};
  CHECK(there.close().find("File exists") != std::string::npos);
  CHECK(read(in.at("there")) == "x");
  output_file full{"/dev/full"};
  CHECK_FALSE(full.close().empty());
}

TEST_CASE("staging: a long file is all there") {
  const scratch in;
  std::string expected;
  output_file file{in.at("long")};
  for (std::size_t i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + '\n';
    expected += line;
    file.text() += line;
    file.flush_if_full();
  }
  REQUIRE(file.close().empty());
  CHECK(read(in.at("long")) == expected);
}

TEST_CASE("staging: a single file is published in the same way") {
  const scratch in;
  CHECK(publish_file(in.at("f"), "1", false).empty());
  CHECK(publish_file(in.at("f"), "2", false).find("--force") != std::string::npos);
  CHECK(read(in.at("f")) == "1");
  CHECK(publish_file(in.at("f"), "3", true).empty());
  CHECK(read(in.at("f")) == "3");
  CHECK_FALSE(publish_file(in.at("no/where"), "4", false).empty());
  CHECK(in.files() == std::set<std::string>{"f"});
}

TEST_CASE("staging: while it is interruptible, the first interrupt is a question") {
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
