// SPDX-License-Identifier: BSL-1.0
#include "../src/api/credentials.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/scratch_directory.hpp"

using namespace allot_kueue;

namespace {

struct files : allot_test::scratch_directory {
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path + '/' + name} << text;
    return path + '/' + name;
  }
};

[[nodiscard]] std::string config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: team}\n- name: d\n  context: "
         "{cluster: k}\n"
         "clusters:\n- name: k\n  cluster: {" +
         cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n";
}

[[nodiscard]] std::string problem_of(const files& f, const std::string& cluster, const std::string& user) {
  const credentials_reading r = read_kubeconfig({f.write("config", config(cluster, user))});
  REQUIRE_FALSE(r.value);
  // Relative to the directory of the test.
  return r.problem.substr(r.problem.find("config: ") == std::string::npos ? 0 : r.problem.find("config: "));
}

}  // namespace

TEST_CASE("credentials: a kubeconfig in YAML, with data in it and files beside it") {
  const files f;
  f.write("ca.pem", "AUTHORITY");
  f.write("my-token", " secret\n");
  const std::string path = f.write(
      "config", config("server: 'https://k:6443/', certificate-authority: ca.pem, tls-server-name: other, "
                       "proxy-url: 'http://p:1'",
                       "tokenFile: my-token, client-certificate-data: Q0VSVA==, client-key-data: S0VZ"));
  const credentials_reading r = read_kubeconfig({path});
  REQUIRE_MESSAGE(r.value, r.problem);
  CHECK(r.value->server == "https://k:6443");
  CHECK(r.value->authorities == "AUTHORITY");
  CHECK(r.value->token == "secret");
  CHECK(r.value->token_file == f.path + "/my-token");
  CHECK(r.value->certificate == "CERT");
  CHECK(r.value->key == "KEY");
  CHECK(r.value->tls_server_name == "other");
  CHECK(r.value->proxy == "http://p:1");
  CHECK(r.value->in_namespace == "team");
  CHECK_FALSE(r.value->is_insecure);
  const credentials_reading d = read_kubeconfig({path}, "d");
  REQUIRE(d.value);
  CHECK(d.value->token.empty());
  CHECK(d.value->in_namespace == "default");
}

TEST_CASE("credentials: in JSON, and merged from several files, of which some are not there") {
  const files f;
  const std::string first = f.write("first", R"({"users": [{"name": "u", "user": {"token": "one"}}]})");
  const std::string second =
      f.write("second", config("server: 'https://k', insecure-skip-tls-verify: true", "token: two"));
  const credentials_reading r = read_kubeconfig({f.path + "/none", first, second});
  REQUIRE_MESSAGE(r.value, r.problem);
  CHECK(r.value->token == "one");
  CHECK(r.value->server == "https://k");
  CHECK(r.value->is_insecure);
  setenv("KUBECONFIG", (f.path + "/none:" + first + ":" + second).c_str(), 1);
  CHECK(find_credentials().value->token == "one");
  CHECK(find_credentials(second).value->token == "two");
  unsetenv("KUBECONFIG");
}

TEST_CASE("credentials: what can't be used is refused, with its place") {
  const files f;
  const std::string at = "server: 'https://k'";
  CHECK(problem_of(f, at, "exec: {command: aws}") ==
        "config: user \"u\": exec: credentials from a command are not supported: use a token or a client "
        "certificate");
  CHECK(problem_of(f, at, "auth-provider: {name: gcp}").find("auth-provider is not supported") !=
        std::string::npos);
  CHECK(problem_of(f, at, "username: x, password: y").find("a password is not supported") !=
        std::string::npos);
  CHECK(problem_of(f, at, "as: root, token: x").find("impersonation is not supported") != std::string::npos);
  CHECK(problem_of(f, at, "client-certificate-data: Q0VSVA==").find("both") != std::string::npos);
  CHECK(problem_of(f, at, "client-key-data: '!!'").find("expected base64") != std::string::npos);
  CHECK(problem_of(f, at, "tokenFile: nowhere").find("nowhere: the file can't be read") != std::string::npos);
  CHECK(problem_of(f, "server: 'http://k'", "token: x").find("not sent without TLS") != std::string::npos);
  CHECK(problem_of(f, "server: 'http://localhost.evil'", "token: x").find("not sent without TLS") !=
        std::string::npos);
  CHECK(problem_of(f, "server: k", "token: x").find("expected https://HOST:PORT") != std::string::npos);
  CHECK(problem_of(f, at + ", insecure-skip-tls-verify: true, certificate-authority-data: Q0E=", "token: x")
            .find("exclude each other") != std::string::npos);
  CHECK(problem_of(f, at + ", insecure-skip-tls-verify: perhaps", "token: x").find("config") !=
        std::string::npos);
  const std::string path = f.write("config", config(at, "token: x"));
  CHECK(read_kubeconfig({path}, "e").problem == path + ": there is no context \"e\"");
  CHECK(read_kubeconfig({f.write("broken", "a: [")}).problem.find("broken: this is neither YAML nor JSON") !=
        std::string::npos);
  CHECK(read_kubeconfig({f.write("list", "- a")}).problem.find("expected a kubeconfig") != std::string::npos);
  CHECK_FALSE(read_kubeconfig({f.path + "/none"}).value);
}

TEST_CASE("credentials: of a pod") {
  const files f;
  f.write("token", "t\n");
  f.write("ca.crt", "CA");
  f.write("namespace", "kueue-system");
  const credentials_reading r = read_service_account("fd00::1", "443", f.path);
  REQUIRE_MESSAGE(r.value, r.problem);
  CHECK(r.value->server == "https://[fd00::1]:443");
  CHECK(r.value->token == "t");
  CHECK(r.value->token_file == f.path + "/token");
  CHECK(r.value->in_namespace == "kueue-system");
  CHECK(read_service_account("h", "1", f.path + "/none").problem.find("ca.crt") != std::string::npos);
}
