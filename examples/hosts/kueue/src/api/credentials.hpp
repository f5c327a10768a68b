// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace allot_kueue {

/// Where an API server is, and who we are to it. Certificates are read once: a program whose certificates are
/// replaced has to be started again.
struct credentials {
  /// "https://10.0.0.1:6443", without a slash at the end.
  std::string server{};
  /// In PEM; empty: what the system trusts.
  std::string authorities{};
  /// In PEM; empty: none.
  std::string certificate{};
  std::string key{};
  std::string token{};
  /// The token is read from it again for each request, for it is replaced; empty: `token` stays.
  std::string token_file{};
  /// The name in the server's certificate, if it is not that of its address.
  std::string tls_server_name{};
  std::string proxy{};
  bool is_insecure = false;
  /// What is meant if no namespace is said.
  std::string in_namespace = "default";
};

struct credentials_reading {
  std::optional<credentials> value{};
  /// Why there are none: what is wrong, where, and what to do.
  std::string problem{};
};

/// From kubeconfig files (YAML or JSON), merged as kubectl does: of several the first that says something is
/// right, and those that don't exist are passed over. An empty context is the current one.
[[nodiscard]] credentials_reading read_kubeconfig(const std::vector<std::string>& files,
                                                  const std::string& context = {});

/// From the directory that is mounted into a pod.
[[nodiscard]] credentials_reading read_service_account(
    const std::string& host, const std::string& port,
    const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount");

/// From the file, if one is named; else from $KUBECONFIG, the service account of a pod, or ~/.kube/config:
/// the first that there is. A context must be one of a kubeconfig.
[[nodiscard]] credentials_reading find_credentials(const std::string& file = {},
                                                   const std::string& context = {});

}  // namespace allot_kueue
