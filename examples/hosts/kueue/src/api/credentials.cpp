// SPDX-License-Identifier: BSL-1.0
#include "credentials.hpp"

#include <yaml-cpp/binary.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace allot_kueue {

namespace {

namespace fs = std::filesystem;

/// Why there are no credentials.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] std::string read_file(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (!file || text.empty()) throw refusal{path.string() + ": the file can't be read, or is empty"};
  return text;
}

[[nodiscard]] std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string{text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first)};
}

[[nodiscard]] std::string env(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

/// An entry of a kubeconfig: the object, and what it is called in messages.
struct section {
  YAML::Node node;
  fs::path directory;
  std::string place;

  [[nodiscard]] YAML::Node find(const char* key) const { return node.IsMap() ? node[key] : YAML::Node{}; }
  /// Empty if it is not there.
  [[nodiscard]] std::string text(const char* key) const {
    const YAML::Node v = find(key);
    if (!v || v.IsNull()) return {};
    if (!v.IsScalar()) throw refusal{place + ": " + key + ": expected a text"};
    return v.as<std::string>();
  }
  /// From `key`-data in base64, else from the file that `key` names.
  [[nodiscard]] std::string material(const char* key) const {
    const std::string data_key = std::string{key} + "-data";
    if (const std::string data = text(data_key.c_str()); !data.empty()) {
      const std::vector<unsigned char> bytes = YAML::DecodeBase64(data);
      if (bytes.empty()) throw refusal{place + ": " + data_key + ": expected base64"};
      return {bytes.begin(), bytes.end()};
    }
    const std::string path = text(key);
    return path.empty() ? std::string{} : read_file(directory / path);
  }
};

struct kubeconfig {
  struct file {
    std::string path;
    YAML::Node root;
  };
  std::vector<file> files;

  [[nodiscard]] std::string where() const {
    std::string all;
    for (const file& f : files) all += (all.empty() ? "" : ", ") + f.path;
    return all;
  }
  [[nodiscard]] std::string current_context() const {
    for (const file& f : files) {
      const YAML::Node v = f.root["current-context"];
      if (v && v.IsScalar() && !v.as<std::string>().empty()) return v.as<std::string>();
    }
    throw refusal{where() + ": there is no current-context: name one"};
  }
  /// The entry of the list ("users") with that name, which has it below a key ("user").
  [[nodiscard]] section find(const char* list, const char* key, const std::string& name) const {
    for (const file& f : files) {
      for (const auto& entry : f.root[list]) {
        if (!entry.IsMap() || !entry["name"] || entry["name"].as<std::string>() != name) continue;
        return {entry[key], fs::path{f.path}.parent_path(), f.path + ": " + key + " \"" + name + '"'};
      }
    }
    throw refusal{where() + ": there is no " + key + " \"" + name + '"'};
  }
};

void read_user(const section& user, credentials& to) {
  static constexpr std::pair<const char*, const char*> refused[] = {
      {"exec", "credentials from a command are not supported: use a token or a client certificate"},
      {"auth-provider", "auth-provider is not supported: use a token or a client certificate"},
      {"username", "a password is not supported: use a token or a client certificate"},
      {"password", "a password is not supported: use a token or a client certificate"},
      {"as", "impersonation is not supported: use a user's own credentials"}};
  for (const auto& [key, why] : refused) {
    if (const YAML::Node v = user.find(key); v && !v.IsNull())
      throw refusal{user.place + ": " + key + ": " + why};
  }
  // As in kubectl the file comes first.
  if (const std::string path = user.text("tokenFile"); !path.empty()) {
    to.token_file = (user.directory / path).string();
    to.token = trimmed(read_file(to.token_file));
  } else {
    to.token = user.text("token");
  }
  to.certificate = user.material("client-certificate");
  to.key = user.material("client-key");
  if (to.certificate.empty() != to.key.empty()) {
    throw refusal{user.place + ": expected both client-certificate and client-key, or none"};
  }
}

void check(const credentials& c, const std::string& place) {
  const bool is_plain = c.server.starts_with("http://");
  if (!is_plain && !c.server.starts_with("https://")) {
    throw refusal{place + ": server: expected https://HOST:PORT, found \"" + c.server + '"'};
  }
  std::string_view host = std::string_view{c.server}.substr(is_plain ? 7 : 8);
  host = host.substr(0, host.find_first_of(":/", host.starts_with('[') ? host.find(']') : 0));
  const bool is_here = host == "127.0.0.1" || host == "localhost" || host == "[::1]";
  if (is_plain && !is_here && !c.token.empty()) {
    throw refusal{place + ": a token is not sent without TLS: expected a server that begins with https://"};
  }
  if (c.is_insecure && !c.authorities.empty()) {
    throw refusal{place +
                  ": insecure-skip-tls-verify and certificate-authority exclude each other: remove one"};
  }
}

[[nodiscard]] credentials read_context(const kubeconfig& all, const std::string& name) {
  const section context = all.find("contexts", "context", name);
  const section cluster = all.find("clusters", "cluster", context.text("cluster"));
  credentials c;
  c.server = cluster.text("server");
  while (c.server.ends_with('/')) c.server.pop_back();
  c.authorities = cluster.material("certificate-authority");
  c.tls_server_name = cluster.text("tls-server-name");
  c.proxy = cluster.text("proxy-url");
  const YAML::Node insecure = cluster.find("insecure-skip-tls-verify");
  c.is_insecure = insecure && insecure.as<bool>();
  if (const std::string space = context.text("namespace"); !space.empty()) c.in_namespace = space;
  if (const std::string user = context.text("user"); !user.empty())
    read_user(all.find("users", "user", user), c);
  check(c, cluster.place);
  return c;
}

template <class Read>
[[nodiscard]] credentials_reading reading_of(Read read) {
  try {
    return {read(), {}};
  } catch (const refusal& r) {
    return {{}, r.what()};
  } catch (const YAML::Exception& e) {
    return {{}, std::string{"kubeconfig: "} + e.what()};
  }
}

}  // namespace

credentials_reading read_kubeconfig(const std::vector<std::string>& files, const std::string& context) {
  return reading_of([&] {
    kubeconfig all;
    for (const std::string& path : files) {
      std::error_code ignored;
      if (files.size() > 1 && !fs::exists(path, ignored)) continue;
      try {
        all.files.push_back({path, YAML::Load(read_file(path))});
      } catch (const YAML::Exception& e) {
        throw refusal{path + ": this is neither YAML nor JSON: " + e.what()};
      }
      if (!all.files.back().root.IsMap()) throw refusal{path + ": expected a kubeconfig, an object"};
    }
    if (all.files.empty()) throw refusal{"kubeconfig: none of the files exists"};
    return read_context(all, context.empty() ? all.current_context() : context);
  });
}

credentials_reading read_service_account(const std::string& host, const std::string& port,
                                         const std::string& directory) {
  return reading_of([&] {
    const fs::path from{directory};
    credentials c;
    const bool is_ipv6 = host.find(':') != std::string::npos;
    c.server = "https://" + (is_ipv6 ? '[' + host + ']' : host) + ':' + port;
    c.authorities = read_file(from / "ca.crt");
    c.token_file = (from / "token").string();
    c.token = trimmed(read_file(c.token_file));
    c.in_namespace = trimmed(read_file(from / "namespace"));
    return c;
  });
}

credentials_reading find_credentials(const std::string& file, const std::string& context) {
  if (!file.empty()) return read_kubeconfig({file}, context);
  if (const std::string paths = env("KUBECONFIG"); !paths.empty()) {
    std::vector<std::string> files;
    std::istringstream list{paths};
    for (std::string path; std::getline(list, path, ':');) {
      if (!path.empty()) files.push_back(path);
    }
    return read_kubeconfig(files, context);
  }
  const std::string host = env("KUBERNETES_SERVICE_HOST");
  const std::string port = env("KUBERNETES_SERVICE_PORT");
  if (context.empty() && !host.empty() && !port.empty()) return read_service_account(host, port);
  const std::string home = env("HOME");
  if (home.empty()) return {{}, "there is no kubeconfig: name one, or set KUBECONFIG"};
  return read_kubeconfig({home + "/.kube/config"}, context);
}

}  // namespace allot_kueue
