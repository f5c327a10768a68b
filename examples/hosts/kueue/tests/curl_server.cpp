// SPDX-License-Identifier: BSL-1.0
//
// Against a real server on this machine, which is ended with the test.
#include "../src/api/curl_server.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../src/api/objects.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace allot_kueue;
namespace json = boost::json;

namespace {

class python_server {
 public:
  explicit python_server(std::vector<std::string> arguments = {}) {
    const auto script = std::filesystem::path{__FILE__}.parent_path() / "flawed_server.py";
    arguments.insert(arguments.begin(), {"python3", script.string()});
    std::vector<char*> words;
    for (std::string& a : arguments) words.push_back(a.data());
    words.push_back(nullptr);
    int in[2];
    int out[2];
    REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::execvp(words.front(), words.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    std::FILE* const said = ::fdopen(out[0], "r");
    const int found = std::fscanf(said, "%d", &port_);
    std::fclose(said);
    REQUIRE_MESSAGE(found == 1, "python3 does not run " << script);
  }
  python_server(const python_server&) = delete;
  python_server& operator=(const python_server&) = delete;
  ~python_server() {
    ::close(input_);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] std::string at(const std::string& host) const { return host + ':' + std::to_string(port_); }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int port_ = 0;
};

[[nodiscard]] credentials plain(const python_server& s) {
  credentials c;
  c.server = s.at("http://127.0.0.1");
  c.token = "secret";
  return c;
}

struct whole_watch {
  std::vector<std::string> lines;
  response end;
};
[[nodiscard]] whole_watch watch(curl_server& server, const std::string& path) {
  const ticket t = server.watch({method::get, path});
  whole_watch w;
  for (int i = 0; i < 1000; ++i) {
    server.perform(1000);
    watch_reading r = server.read(t);
    w.lines.insert(w.lines.end(), r.lines.begin(), r.lines.end());
    w.end = r.end;
    if (r.is_over) return w;
  }
  FAIL("the watch does not end");
  return w;
}

[[nodiscard]] std::string text_of(const response& answer, std::initializer_list<std::string_view> path) {
  const outcome o = outcome_of(answer);
  return std::string{text_at(o.object, path)};
}

[[nodiscard]] double seconds_of(const auto& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[nodiscard]] std::string read(const std::string& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}

const std::vector<std::string> both_lines = {R"({"a":1})", R"({"b":2})", R"({"c":3})"};

}  // namespace

TEST_CASE("curl_server: requests arrive as they are meant") {
  const python_server s;
  curl_server server{plain(s)};
  request r{method::patch, "/x/y", {{"a b", "c&d"}}, "application/merge-patch+json", R"({"k":"v"})"};
  const outcome o = outcome_of(ask(server, r));
  REQUIRE_MESSAGE(o, o.text);
  CHECK(o.object.at("how") == "PATCH");
  CHECK(o.object.at("path") == "/x/y?a%20b=c%26d");
  CHECK(o.object.at("body") == R"({"k":"v"})");
  const json::object headers = o.object.at("headers").as_object();
  CHECK(headers.at("Authorization") == "Bearer secret");
  CHECK(headers.at("Content-Type") == "application/merge-patch+json");
  CHECK(headers.at("User-Agent") == "allot-kueue");
  for (const auto& [how, word] : {std::pair{method::get, "GET"},
                                  {method::post, "POST"},
                                  {method::put, "PUT"},
                                  {method::remove, "DELETE"}}) {
    r.how = how;
    CHECK(outcome_of(ask(server, r)).object.at("how") == word);
  }
}

TEST_CASE("curl_server: many requests are under way at once, and connections are used again") {
  const python_server s;
  curl_options options;
  options.at_once = 10;
  options.request_timeout = 20'000;
  curl_server server{plain(s), options};
  std::vector<request> all(10, request{method::get, "/slow"});
  const double took = seconds_of([&] {
    for (const response& a : ask(server, all)) CHECK_MESSAGE(a.status == 200, a.problem);
  });
  CHECK(took < 8);
  all.assign(500, {method::get, "/echo"});
  for (std::size_t i = 0; i < all.size(); ++i) all[i].path += std::to_string(i);
  const auto answers = ask(server, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(text_of(answers[i], {"path"}) == "/echo" + std::to_string(i));
  }
}

TEST_CASE("curl_server: what goes wrong is told, and nothing is half an answer") {
  const python_server s;
  curl_options options;
  options.request_timeout = 300;
  options.longest_body = 100'000;
  curl_server server{plain(s), options};
  CHECK(ask(server, {method::get, "/slow"}).problem.find("timed out") != std::string::npos);
  const response half = ask(server, {method::get, "/half"});
  CHECK(half.status == 0);
  CHECK(outcome_of(half).is == outcome::kind::away);
  CHECK(outcome_of(ask(server, {method::post, "/nothing"})).is == outcome::kind::away);
  CHECK(ask(server, {method::get, "/gzip"}).problem.find("more than 100000 bytes") != std::string::npos);
  const response busy = ask(server, {method::get, "/busy"});
  CHECK(busy.status == 429);
  CHECK(busy.retry_after == 2000);
  // A token goes nowhere else.
  CHECK(outcome_of(ask(server, {method::get, "/redirect"})).is == outcome::kind::refused);
  CHECK(curl_server{plain(s)}.take(ticket{77})->status == 0);
  curl_server large{plain(s)};
  CHECK(ask(large, {method::get, "/gzip"}).body.size() > 1'000'000);
  credentials nobody = plain(s);
  nobody.server = "http://127.0.0.1:1";
  curl_server away{nobody};
  const outcome refused = outcome_of(ask(away, {method::get, "/"}));
  CHECK(refused.is == outcome::kind::away);
  CHECK(refused.text.starts_with("http://127.0.0.1:1: "));
}

TEST_CASE("curl_server: watches give whole lines, and say how they ended") {
  const python_server s;
  curl_options options;
  options.longest_line = 1'000'000;
  curl_server server{plain(s), options};
  const whole_watch lines = watch(server, "/watch/lines");
  CHECK(lines.lines == both_lines);
  CHECK(lines.end.status == 200);
  CHECK(lines.end.problem.empty());
  const whole_watch cut = watch(server, "/watch/cut");
  CHECK(cut.lines == std::vector<std::string>{R"({"a":1})"});
  CHECK(cut.end.status == 200);
  CHECK_FALSE(cut.end.problem.empty());
  const whole_watch gone = watch(server, "/watch/gone");
  CHECK(gone.lines.empty());
  CHECK(outcome_of(gone.end).is == outcome::kind::gone);
  CHECK(outcome_of(gone.end).text == "too old");
  CHECK(watch(server, "/watch/long").end.problem.find("a line has more than 1000000 bytes") !=
        std::string::npos);
  // Beside others, and dropped.
  const ticket endless = server.watch({method::get, "/watch/endless"});
  std::vector<std::string> first;
  for (int i = 0; i < 100 && first.empty(); ++i) {
    server.perform(100);
    first = server.read(endless).lines;
  }
  CHECK(first == std::vector<std::string>{R"({"a":1})"});
  CHECK(ask(server, {method::get, "/echo"}).status == 200);
  server.drop(endless);
  CHECK(server.read(endless).is_over);
  CHECK(ask(server, {method::get, "/echo"}).status == 200);
}

TEST_CASE("curl_server: if nothing at all comes while a request waits, connections are made anew") {
  const python_server s;
  curl_options options;
  options.request_timeout = 300;
  curl_server server{plain(s), options};
  const auto open = [&](const char* path) {
    const ticket t = server.watch({method::get, path});
    for (int i = 0; i < 100 && server.read(t).lines.empty(); ++i) server.perform(100);
    return t;
  };
  const ticket lively = open("/watch/endless");
  CHECK(ask(server, {method::get, "/slow"}).status == 0);
  watch_reading r = server.read(lively);
  CHECK(r.is_open);
  CHECK_FALSE(r.is_over);
  server.drop(lively);
  const ticket silent = open("/watch/silent");
  CHECK(server.read(silent).is_open);
  CHECK(ask(server, {method::get, "/slow"}).status == 0);
  r = server.read(silent);
  CHECK(r.is_over);
  CHECK(r.end.status == 200);
  CHECK(r.end.problem.ends_with("the connection stands still"));
  CHECK(ask(server, {method::get, "/echo"}).status == 200);
}

TEST_CASE("curl_server: waits for what comes, not longer, and not at all if something is there") {
  const python_server s;
  curl_server server{plain(s)};
  const ticket t = server.submit({method::get, "/echo"});
  CHECK(seconds_of([&] {
          for (int i = 0; i < 100 && !server.take(t); ++i) server.perform(10'000);
        }) < 5);
  const ticket unread = server.submit({method::get, "/echo"});
  server.await_any({{unread}}, [] {});
  CHECK(seconds_of([&] { server.perform(10'000); }) < 1);
  CHECK(server.take(unread)->status == 200);
  // Another descriptor ends it, too.
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(::write(ends[1], "x", 1) == 1);
  const int readable = ends[0];
  CHECK(seconds_of([&] { server.perform(10'000, {&readable, 1}); }) < 1);
  CHECK(seconds_of([&] { server.perform(200); }) > 0.15);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("curl_server: a token that is replaced in its file is used at once") {
  const allot_test::scratch_directory scratch;
  const python_server s;
  credentials c = plain(s);
  c.token_file = scratch.path + "/token";
  std::ofstream{c.token_file} << "first\n";
  curl_server server{c};
  const auto token = [&] {
    return outcome_of(ask(server, {method::get, "/echo"})).object.at("headers").at("Authorization");
  };
  CHECK(token() == "Bearer first");
  std::ofstream{c.token_file} << "second\n";
  CHECK(token() == "Bearer second");
  // Between two of them there may be none.
  std::ofstream{c.token_file};
  CHECK(token() == "Bearer second");
}

TEST_CASE("curl_server: TLS is verified, by the authority, the name and the client's certificate") {
  const allot_test::scratch_directory scratch;
  const std::string& d = scratch.path;
  const auto certify = [&](const std::string& name, const std::string& alternative) {
    const std::string command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=" + name +
                                " -addext subjectAltName=" + alternative + " -keyout " + d + '/' + name +
                                ".key -out " + d + '/' + name + ".pem 2>/dev/null";
    REQUIRE_MESSAGE(std::system(command.c_str()) == 0, "openssl: is it there?");
  };
  certify("here", "IP:127.0.0.1");
  certify("elsewhere", "DNS:allot.test");
  certify("client", "DNS:client");
  const auto get = [](credentials c) {
    curl_server server{std::move(c)};
    return ask(server, {method::get, "/echo"});
  };
  {
    const python_server s{{d + "/here.pem", d + "/here.key"}};
    credentials c;
    c.server = s.at("https://127.0.0.1");
    CHECK(get(c).problem.find("certificate") != std::string::npos);
    c.authorities = read(d + "/elsewhere.pem");
    CHECK(get(c).problem.find("certificate") != std::string::npos);
    c.authorities = read(d + "/here.pem");
    const response r = get(c);
    CHECK_MESSAGE(r.status == 200, r.problem);
    c.server = s.at("https://localhost");
    CHECK(get(c).status == 0);
    c.authorities.clear();
    c.is_insecure = true;
    CHECK(get(c).status == 200);
  }
  const python_server s{{d + "/elsewhere.pem", d + "/elsewhere.key", d + "/client.pem"}};
  credentials c;
  c.server = s.at("https://127.0.0.1");
  c.authorities = read(d + "/elsewhere.pem");
  c.certificate = read(d + "/client.pem");
  c.key = read(d + "/client.key");
  CHECK(get(c).status == 0);
  c.tls_server_name = "allot.test";
  const response r = get(c);
  CHECK_MESSAGE(r.status == 200, r.problem);
  CHECK(text_of(r, {"headers", "Host"}) == s.at("127.0.0.1"));
  c.certificate.clear();
  c.key.clear();
  CHECK(get(c).status == 0);
}
