// SPDX-License-Identifier: BSL-1.0
#include "curl_server.hpp"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace allot_kueue {

namespace {

struct easy_deleter {
  void operator()(CURL* e) const noexcept { curl_easy_cleanup(e); }
};
using easy_handle = std::unique_ptr<CURL, easy_deleter>;
struct list_deleter {
  void operator()(curl_slist* l) const noexcept { curl_slist_free_all(l); }
};
using header_list = std::unique_ptr<curl_slist, list_deleter>;

void append(header_list& to, const std::string& line) {
  curl_slist* const longer = curl_slist_append(to.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc{};
  static_cast<void>(to.release());
  to.reset(longer);
}

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  // Refused is what this libcurl was built without.
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) {
    throw std::runtime_error{"libcurl does not support option " + std::to_string(option)};
  }
}

void set_blob(CURL* easy, CURLoption option, std::string& pem) {
  curl_blob blob{pem.data(), pem.size(), CURL_BLOB_NOCOPY};
  set(easy, option, &blob);
}

/// A peer that is gone is noticed within half a minute, as if it had said so.
int detect_dead_peers(void*, curl_socket_t s, curlsocktype) {
  const int on = 1;
  const int idle_s = 10;
  const unsigned most_ms = 30'000;
  static_cast<void>(::setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on));
  static_cast<void>(::setsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s));
  static_cast<void>(::setsockopt(s, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s));
  static_cast<void>(::setsockopt(s, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms));
  return CURL_SOCKOPT_OK;
}

}  // namespace

class curl_server::connections {
 public:
  connections(credentials who, curl_options options) : who_(std::move(who)), options_(std::move(options)) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      throw std::runtime_error{"libcurl can't be initialized"};
    open();
    place();
  }
  connections(const connections&) = delete;
  connections& operator=(const connections&) = delete;
  ~connections() {
    for (auto& [t, one] : all_) stop(*one);
    all_.clear();
    idle_.clear();
    curl_multi_cleanup(multi_);
    curl_global_cleanup();
  }

  ticket add(request r, bool is_watch) {
    const ticket t{++last_};
    auto one = std::make_unique<transfer>();
    one->owner = this;
    one->what = std::move(r);
    one->is_watch = is_watch;
    all_.emplace(t, std::move(one));
    if (is_watch) {
      start(*all_.at(t));
    } else {
      queue_.push_back(t);
      start_queued();
    }
    return t;
  }

  std::optional<response> take(ticket t) {
    const auto at = all_.find(t);
    if (at == all_.end()) return response{0, {}, {}, "there is no such request"};
    if (!at->second->is_over) return std::nullopt;
    response answer = std::move(at->second->answer);
    forget(at);
    return answer;
  }

  watch_reading read(ticket t) {
    const auto at = all_.find(t);
    if (at == all_.end()) return {{}, false, true, {0, {}, {}, "there is no such watch"}};
    transfer& one = *at->second;
    mark_read(one);
    watch_reading r{std::exchange(one.lines, {}), !one.is_over && status_of(one) == 200, one.is_over, {}};
    if (one.is_over) {
      r.end = std::move(one.answer);
      all_.erase(at);
    }
    return r;
  }

  void drop(ticket t) {
    if (const auto at = all_.find(t); at != all_.end()) {
      stop(*at->second);
      forget(at);
      start_queued();
    }
  }

  void perform(instant wait, std::span<const int> also) {
    pump(0, {});
    // Also returns when something else happened on a connection; then there is nothing to take, and no harm.
    if (unread_ == 0) pump(wait, also);
  }

  void await_any(std::span<const ticket> some, const std::function<void()>& meanwhile) {
    const auto is_open = [&](ticket t) {
      const auto at = all_.find(t);
      return at != all_.end() && !at->second->is_over;
    };
    pump(0, {});
    while (!some.empty() && std::all_of(some.begin(), some.end(), is_open)) {
      pump(1000, {});
      meanwhile();
    }
  }

 private:
  struct transfer {
    connections* owner = nullptr;
    request what;
    bool is_watch = false;
    bool is_over = false;
    /// There is something to take or read that the owner counts.
    bool is_unread = false;
    /// What the owner had heard when it was started.
    std::uint64_t heard_before = 0;
    std::string target;
    easy_handle easy{};
    header_list headers{};
    header_list connect_to{};
    response answer{};
    std::string partial{};
    std::vector<std::string> lines{};
    std::string trouble{};
    std::array<char, CURL_ERROR_SIZE> error{};
  };
  struct ticket_hash {
    std::size_t operator()(ticket t) const noexcept { return static_cast<std::size_t>(t); }
  };
  using transfers = std::unordered_map<ticket, std::unique_ptr<transfer>, ticket_hash>;

  void open() {
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 250L);
    // Where there is no HTTP/2, as many connections are kept as are used at once.
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.at_once) + 64);
  }

  /// A connection that stands still is not noticed by TCP, and would be used for the next request again.
  void open_anew() {
    for (auto& [t, one] : all_) {
      if (!one->easy) continue;
      one->trouble = "the connection stands still";
      finish(*one, CURLE_OPERATION_TIMEDOUT);
    }
    curl_multi_cleanup(multi_);
    open();
  }

  static std::size_t on_bytes(char* data, std::size_t, std::size_t size, void* user) {
    auto& one = *static_cast<transfer*>(user);
    return one.owner->receive(one, {data, size}) ? size : 0;
  }

  bool receive(transfer& one, std::string_view bytes) {
    ++heard_;
    if (!one.is_watch || status_of(one) != 200) {
      if (one.answer.body.size() + bytes.size() > options_.longest_body) {
        one.trouble = "the answer has more than " + std::to_string(options_.longest_body) + " bytes";
        return false;
      }
      one.answer.body += bytes;
      return true;
    }
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      one.partial += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!one.partial.empty()) {
        one.lines.push_back(std::exchange(one.partial, {}));
        mark_unread(one);
      }
    }
    one.partial += bytes;
    if (one.partial.size() <= options_.longest_line) return true;
    one.trouble = "a line has more than " + std::to_string(options_.longest_line) + " bytes";
    return false;
  }

  [[nodiscard]] static int status_of(const transfer& one) {
    long status = 0;
    curl_easy_getinfo(one.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  void mark_unread(transfer& one) {
    if (!std::exchange(one.is_unread, true)) ++unread_;
  }
  void mark_read(transfer& one) {
    if (std::exchange(one.is_unread, false)) --unread_;
  }

  void pump(instant wait, std::span<const int> also) {
    if (wait > 0) {
      std::vector<curl_waitfd> descriptors;
      for (const int d : also) descriptors.push_back({d, CURL_WAIT_POLLIN, 0});
      constexpr instant longest = 3'600'000;
      curl_multi_poll(multi_, descriptors.data(), static_cast<unsigned>(descriptors.size()),
                      static_cast<int>(std::min(wait, longest)), nullptr);
    }
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    bool has_room = false;
    bool stands_still = false;
    while (const CURLMsg* const m = curl_multi_info_read(multi_, &left)) {
      if (m->msg != CURLMSG_DONE) continue;
      const CURLcode code = m->data.result;
      transfer* one = nullptr;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &one);
      long sent = 0;
      curl_easy_getinfo(m->easy_handle, CURLINFO_REQUEST_SIZE, &sent);
      stands_still |= code == CURLE_OPERATION_TIMEDOUT && sent > 0 && one->heard_before == heard_;
      finish(*one, code);
      has_room = true;
    }
    if (stands_still) open_anew();
    if (!has_room) return;
    start_queued();
    curl_multi_perform(multi_, &running);
  }

  /// Once it is over, with its answer.
  void finish(transfer& one, CURLcode code) {
    curl_off_t retry_s = 0;
    curl_easy_getinfo(one.easy.get(), CURLINFO_RETRY_AFTER, &retry_s);
    constexpr curl_off_t longest_s = 86'400;
    if (retry_s > 0) one.answer.retry_after = 1000 * std::min(retry_s, longest_s);
    one.answer.status = status_of(one);
    if (code == CURLE_OK) ++heard_;
    if (code != CURLE_OK) {
      if (one.trouble.empty())
        one.trouble = one.error[0] != '\0' ? one.error.data() : curl_easy_strerror(code);
      one.answer.problem = who_.server + ": " + one.trouble;
      // What is only a part of an answer is none. A watch was open.
      if (!one.is_watch || one.answer.status != 200) one.answer.status = 0;
    }
    one.is_over = true;
    mark_unread(one);
    stop(one);
  }

  /// Gives back what it uses of libcurl.
  void stop(transfer& one) {
    if (!one.easy) return;
    curl_multi_remove_handle(multi_, one.easy.get());
    curl_easy_reset(one.easy.get());
    idle_.push_back(std::move(one.easy));
    if (!one.is_watch) --under_way_;
  }

  void forget(transfers::iterator at) {
    mark_read(*at->second);
    all_.erase(at);
  }

  void start_queued() {
    while (!queue_.empty() && under_way_ < options_.at_once) {
      const auto at = all_.find(queue_.front());
      queue_.pop_front();
      // It may have been dropped.
      if (at != all_.end()) start(*at->second);
    }
  }

  void start(transfer& one) {
    if (idle_.empty()) {
      one.easy.reset(curl_easy_init());
      if (!one.easy) throw std::bad_alloc{};
    } else {
      one.easy = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!one.is_watch) ++under_way_;
    one.heard_before = heard_;
    set_request(one);
    set_security(one.easy.get());
    curl_multi_add_handle(multi_, one.easy.get());
  }

  void set_request(transfer& one) {
    CURL* const easy = one.easy.get();
    one.target = base_ + one.what.target();
    static constexpr std::array<const char*, 5> words = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    set(easy, CURLOPT_URL, one.target.c_str());
    set(easy, CURLOPT_CUSTOMREQUEST, words[static_cast<std::size_t>(one.what.how)]);
    if (one.what.how != method::get && one.what.how != method::remove) {
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(one.what.body.size()));
      set(easy, CURLOPT_POSTFIELDS, one.what.body.c_str());
      append(one.headers, "Content-Type: " + one.what.content_type);
      append(one.headers, "Expect:");
    }
    append(one.headers, "Accept: application/json");
    if (!host_header_.empty()) append(one.headers, host_header_);
    if (const std::string token = current_token(); !token.empty()) {
      append(one.headers, "Authorization: Bearer " + token);
    }
    set(easy, CURLOPT_HTTPHEADER, one.headers.get());
    set(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(easy, CURLOPT_WRITEFUNCTION, &on_bytes);
    set(easy, CURLOPT_WRITEDATA, &one);
    set(easy, CURLOPT_PRIVATE, &one);
    set(easy, CURLOPT_ERRORBUFFER, one.error.data());
    set(easy, CURLOPT_PIPEWAIT, 1L);
    set(easy, CURLOPT_SOCKOPTFUNCTION, &detect_dead_peers);
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout));
    if (one.is_watch) return;
    const instant timeout = one.what.timeout > 0 ? one.what.timeout : options_.request_timeout;
    set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout));
    // Servers pack long answers only.
    set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  }

  void set_security(CURL* easy) {
    set(easy, CURLOPT_PROTOCOLS_STR, base_.starts_with("https:") ? "https" : "http");
    if (connect_to_) set(easy, CURLOPT_CONNECT_TO, connect_to_.get());
    if (!who_.authorities.empty()) {
      set_blob(easy, CURLOPT_CAINFO_BLOB, who_.authorities);
      // Else what the system trusts would be trusted, too.
      set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!who_.certificate.empty()) {
      set(easy, CURLOPT_SSLCERTTYPE, "PEM");
      set(easy, CURLOPT_SSLKEYTYPE, "PEM");
      set_blob(easy, CURLOPT_SSLCERT_BLOB, who_.certificate);
      set_blob(easy, CURLOPT_SSLKEY_BLOB, who_.key);
    }
    if (who_.is_insecure) {
      set(easy, CURLOPT_SSL_VERIFYPEER, 0L);
      set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!who_.proxy.empty()) set(easy, CURLOPT_PROXY, who_.proxy.c_str());
    set(easy, CURLOPT_NOPROXY, no_proxy_.c_str());
  }

  /// A token file is replaced before the token expires.
  [[nodiscard]] std::string current_token() {
    if (who_.token_file.empty()) return who_.token;
    std::ifstream file{who_.token_file};
    std::string token;
    if (file >> token) who_.token = std::move(token);
    return who_.token;
  }

  /// Where requests go, and by what name the server proves who it is.
  void place() {
    base_ = who_.server;
    if (!who_.tls_server_name.empty() && base_.starts_with("https://")) {
      const std::size_t path = std::min(base_.find('/', 8), base_.size());
      std::string host = base_.substr(8, path - 8);
      const std::size_t colon = host.find(':', host.rfind(']') == std::string::npos ? 0 : host.rfind(']'));
      const std::string port = colon == std::string::npos ? "443" : host.substr(colon + 1);
      host_header_ = "Host: " + host;
      base_ = "https://" + who_.tls_server_name + ':' + port + base_.substr(path);
      append(connect_to_, who_.tls_server_name + ':' + port + ':' + host.substr(0, colon) + ':' + port);
    }
    // As for kubectl: a proxy of the environment is not for this machine.
    if (!who_.proxy.empty()) return;
    for (const char* name : {"NO_PROXY", "no_proxy"}) {
      if (const char* const value = std::getenv(name)) no_proxy_.append(value).append(1, ',');
    }
    no_proxy_ += "localhost,127.0.0.1,::1";
  }

  credentials who_;
  curl_options options_;
  std::string base_;
  std::string host_header_;
  header_list connect_to_;
  std::string no_proxy_;
  CURLM* multi_ = nullptr;
  std::uint64_t last_ = 0;
  transfers all_;
  std::deque<ticket> queue_;
  std::vector<easy_handle> idle_;
  std::size_t under_way_ = 0;
  std::size_t unread_ = 0;
  /// Counts what comes, of anything.
  std::uint64_t heard_ = 0;
};

curl_server::curl_server(credentials who, curl_options options)
    : connections_(std::make_unique<connections>(std::move(who), std::move(options))) {}
curl_server::~curl_server() = default;

ticket curl_server::submit(request r) {
  return connections_->add(std::move(r), false);
}
std::optional<response> curl_server::take(ticket t) {
  return connections_->take(t);
}
ticket curl_server::watch(request r) {
  return connections_->add(std::move(r), true);
}
watch_reading curl_server::read(ticket t) {
  return connections_->read(t);
}
void curl_server::drop(ticket t) {
  connections_->drop(t);
}
void curl_server::perform(instant wait, std::span<const int> also) {
  connections_->perform(wait, also);
}
void curl_server::await_any(std::span<const ticket> some, const std::function<void()>& meanwhile) {
  connections_->await_any(some, meanwhile);
}

}  // namespace allot_kueue
