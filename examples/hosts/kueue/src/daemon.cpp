// SPDX-License-Identifier: BSL-1.0
#include "daemon.hpp"

#include "api/credentials.hpp"
#include "api/curl_server.hpp"
#include "api/endpoint.hpp"
#include "api/lease.hpp"
#include "governor/src/clock.hpp"
#include "governor/src/commands.hpp"
#include "governor/src/events_file.hpp"
#include "governor/src/governor.hpp"
#include "governor/src/lock.hpp"
#include "governor/src/metrics.hpp"
#include "governor/src/notify.hpp"
#include "governor/src/orders.hpp"
#include "governor/src/signals.hpp"
#include "governor/src/state_files.hpp"
#include "words.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace allot_kueue {

namespace {

namespace json = boost::json;

using allot_governor::governor;

[[nodiscard]] moment time_now() {
  const allot_governor::moment m = allot_governor::now();
  return {m.steady, m.wall};
}

/// No other process has it, on no machine.
[[nodiscard]] std::string new_identity() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return std::string{host.data()} + '_' + std::to_string(::getpid()) + '_' + std::to_string(time_now().wall);
}

/// Signals as a file that can be read.
class signal_file {
 public:
  signal_file() {
    allot_governor::await_signals();
    const sigset_t all = allot_governor::awaited_signals();
    file_ = ::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    if (file_ < 0) throw std::runtime_error{std::string{"signalfd: "} + std::strerror(errno)};
  }
  signal_file(const signal_file&) = delete;
  signal_file& operator=(const signal_file&) = delete;
  ~signal_file() { ::close(file_); }

  [[nodiscard]] int descriptor() const noexcept { return file_; }
  /// Whether the program is to end.
  [[nodiscard]] bool ends() {
    signalfd_siginfo one{};
    bool all = false;
    while (::read(file_, &one, sizeof one) == sizeof one)
      all = all || one.ssi_signo == SIGTERM || one.ssi_signo == SIGINT;
    return all;
  }

 private:
  int file_ = -1;
};

struct listen_address {
  std::string address{};
  std::uint16_t port = 0;
};
[[nodiscard]] listen_address parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  listen_address a;
  const char* const end = text.data() + text.size();
  const bool is_read = colon != std::string::npos && colon > 0 &&
                       std::from_chars(text.data() + colon + 1, end, a.port).ptr == end;
  if (!is_read)
    throw std::runtime_error{"--listen " + text + ": expected ADDRESS:PORT, as in 127.0.0.1:8080"};
  a.address = text.substr(0, colon);
  if (a.address.starts_with('[') && a.address.ends_with(']'))
    a.address = a.address.substr(1, a.address.size() - 2);
  return a;
}

[[nodiscard]] credentials credentials_for(const daemon_options& o) {
  auto found = find_credentials(o.kubeconfig, o.context);
  if (!found.value) throw std::runtime_error{found.problem};
  return std::move(*found.value);
}

[[nodiscard]] lease_options lease_for(const daemon_options& o) {
  lease_options l;
  const std::size_t slash = o.lease.find('/');
  if (slash == std::string::npos)
    throw std::runtime_error{"--lease " + o.lease + ": expected NAMESPACE/NAME"};
  l.name = {o.lease.substr(0, slash), o.lease.substr(slash + 1)};
  l.identity = o.host.instance;
  l.seed = o.host.seed;
  return l;
}

/// The annotation of a Lease with a freeze.
constexpr std::string_view freeze_note = "allot.dev/freeze";
/// That of deploy/.
const object_name usual_lease{"allot-system", "allot-kueue"};

/// Sets the note, or removes it if it is empty. Returns what it was before; throws if that is not possible.
std::string set_freeze_note(const daemon_options& o, const std::string& text) {
  curl_server server{credentials_for(o)};
  const object_name name = lease_for(o).name;
  constexpr int attempts = 10;
  outcome answer;
  // Its holder writes it every two seconds.
  for (int i = 0; i < attempts; ++i) {
    answer = outcome_of(ask(server, get(leases(), name)));
    if (!answer) break;
    json::object next = std::move(answer.object);
    json::object notes;
    json::object& meta = next["metadata"].as_object();
    if (json::value* const has = meta.if_contains("annotations"); has != nullptr && has->is_object())
      notes = has->get_object();
    const std::string before{text_at(notes, {freeze_note})};
    if (text == before) return before;
    notes.erase(freeze_note);
    if (!text.empty()) notes[freeze_note] = text;
    meta["annotations"] = std::move(notes);
    answer = outcome_of(ask(server, replace(leases(), std::move(next))));
    if (answer) return before;
    if (answer.is != outcome::kind::conflict) break;
  }
  throw std::runtime_error{"lease " + name.text() + ": " + answer.text};
}

/// The holder of the usual Lease, if it is seen to renew it; else empty.
[[nodiscard]] std::string holder_of_usual_lease(curl_server& server) {
  constexpr instant patience = 5000;
  json::value first;
  for (const instant end = time_now().steady + patience;;) {
    const outcome answer = outcome_of(ask(server, get(leases(), usual_lease)));
    if (answer.is == outcome::kind::not_found) return {};
    if (!answer) throw std::runtime_error{answer.text};
    const json::value* const spec = answer.object.if_contains("spec");
    const std::string holder{text_at(answer.object, {"spec", "holderIdentity"})};
    if (spec == nullptr || holder.empty()) return {};
    if (first.is_null()) first = *spec;
    if (first != *spec) return holder;
    const instant left = end - time_now().steady;
    if (left <= 0) return {};
    server.perform(std::min<instant>(left, 500));
  }
}

/// The program while it runs.
class loop {
 public:
  explicit loop(daemon_options o)
      : options_(std::move(o)),
        who_(credentials_for(options_)),
        server_(who_),
        host_(server_, with_lease(options_.host)),
        files_(options_.directory),
        orders_(options_.directory) {
    if (!options_.lease.empty() && !options_.observes) lease_.emplace(server_, lease_for(options_));
    if (options_.lease.empty() && !options_.observes) refuse_second();
    if (!options_.observes) {
      if (const std::string why = events_.open(options_.events); !why.empty()) throw std::runtime_error{why};
    }
    if (options_.listen.empty()) return;
    const listen_address at = parse_address(options_.listen);
    endpoint_.emplace(at.address, at.port,
                      endpoint_pages{[this] { return metrics(); },
                                     [this] { return host_.is_synced() ? std::string{} : host_.problem(); }});
    say("listens at " + at.address + ":" + std::to_string(endpoint_->port()));
  }

  void run() {
    allot_governor::notify("READY=1");
    while (!signals_.ends()) {
      turn();
      wait();
    }
    if (it_ != nullptr) {
      if (!options_.observes && it_->scheduler() != nullptr)
        files_.write(it_->remembers(), who_.server, true);
      show();
    }
    give_up_lease();
  }

 private:
  static void say(const std::string& line) { std::cerr << "allot-kueue: " << line << std::endl; }

  /// Its lease is renewed while it waits, and it writes nothing without it.
  [[nodiscard]] kueue_host_options with_lease(kueue_host_options o) {
    o.may_write = [this] {
      const moment now = time_now();
      if (lease_) lease_->step(now);
      return leads(now);
    };
    return o;
  }
  /// Two that both admit use the same quotas twice.
  void refuse_second() {
    std::string holder;
    try {
      holder = holder_of_usual_lease(server_);
    } catch (const std::runtime_error& e) {
      say(std::string{"whether another allot-kueue governs can't be seen, and without --lease both would: "} +
          e.what());
    }
    if (holder.empty()) return;
    throw std::runtime_error{"another allot-kueue, " + holder + ", governs with the Lease " +
                             usual_lease.text() + ": --lease " + usual_lease.text() +
                             " stands by until that one ends, --observe only looks on"};
  }
  [[nodiscard]] bool leads(const moment& now) const { return !lease_ || lease_->is_leader(now.steady); }

  void turn() {
    const moment now = time_now();
    host_.step(now);
    if (lease_) lease_->step(now);
    if (endpoint_) endpoint_->serve();
    if (leads(now) != (it_ != nullptr)) leads(now) ? begin() : stand_aside();
    if (it_ == nullptr) return;
    const auto wakes = it_->wakes_at();
    const bool is_due = host_.has_news() || now.steady >= next_tick_ || (wakes && *wakes <= now.wall);
    if (is_due) tick(now);
    if (!options_.observes) host_.tidy();
  }

  void tick(const moment& now) {
    it_->log().set_time(now.wall);
    if (!options_.observes) read_freeze();
    it_->tick({now.wall, now.steady});
    note_what_is_new();
    next_tick_ = now.steady + options_.poll_ms;
    events_.write();
    if (now.steady < next_files_) return;
    next_files_ = now.steady + 1000;
    if (!options_.observes && it_->scheduler() != nullptr) files_.write(it_->remembers(), who_.server);
    if (files_.is_due()) show();
    files_.complain(it_->log());
  }

  /// Until something comes or is due.
  void wait() {
    const moment now = time_now();
    instant next = std::min(host_.due(), now.steady + options_.poll_ms);
    if (lease_) next = std::min(next, lease_->due());
    if (it_ != nullptr) {
      next = std::min(next, next_tick_);
      if (const auto wakes = it_->wakes_at()) next = std::min(next, now.steady + *wakes - now.wall);
    }
    std::vector<int> also{signals_.descriptor()};
    if (endpoint_) also.push_back(endpoint_->descriptor());
    allot_governor::notify("WATCHDOG=1");
    server_.perform(std::clamp<instant>(next - now.steady, 0, options_.poll_ms), also);
  }

  void begin() {
    allot_governor::surroundings around;
    around.log = [](const std::string& line) { std::cerr << line << std::endl; };
    if (events_.is_open()) around.events = [this](const std::string& line) { events_.add(line); };
    if (!options_.observes)
      around.remember = [this](const allot_governor::memory& m) { files_.write(m, who_.server); };
    host_.tell_all_again();
    it_ = std::make_unique<governor>(allot_governor::governor_options{.words = kueue_words,
                                                                      .observes = options_.observes,
                                                                      .explanations_per_tick = 50,
                                                                      .starts_per_tick = 200},
                                     host_, std::move(around));
    it_->set_cluster_name(who_.server);
    it_->log().set_time(time_now().wall);
    it_->log()("host", {{"state", "governs"}, {"cluster", who_.server}});
    if (options_.observes) return;
    if (auto m = files_.read(who_.server, it_->log())) it_->remember(std::move(*m));
  }
  void stand_aside() {
    it_->log()("host", {{"state", "stands aside"}, {"why", "another governor has the lease"}});
    it_.reset();
  }

  /// An operator's order is in the directory, or in the Lease for its holder.
  void read_freeze() {
    static_cast<void>(orders_.read_freeze(it_->log()));
    std::optional<allot_governor::freeze_order> now;
    if (const auto note = lease_ ? lease_->note(freeze_note) : std::string_view{}; !note.empty())
      now = allot_governor::parse_freeze(note);
    if (now && now->until && *now->until <= time_now().wall) now.reset();
    if (now != freeze_of_lease_) {
      freeze_of_lease_ = std::move(now);
      it_->log()("freeze",
                 {{"lease", options_.lease},
                  {"state", freeze_of_lease_ ? allot_governor::sentence(*freeze_of_lease_) : "thawed"}});
    }
    it_->freeze(frozen().has_value());
  }
  [[nodiscard]] const std::optional<allot_governor::freeze_order>& frozen() const {
    return orders_.frozen() ? orders_.frozen() : freeze_of_lease_;
  }

  void note_what_is_new() {
    const std::vector<std::string> notes = host_.notes();
    for (const std::string& n : notes) {
      if (std::find(noted_.begin(), noted_.end(), n) == noted_.end()) it_->log()("note", {{"text", n}});
    }
    noted_ = notes;
  }

  void show() {
    allot_governor::snapshot s = it_->snapshot_view();
    s.frozen = frozen();
    files_.show(s, options_.page, {});
  }
  [[nodiscard]] std::string metrics() {
    allot_governor::snapshot s;
    if (it_ != nullptr) s = it_->snapshot_view();
    s.words = kueue_words;
    std::string text = metrics_of(s);
    text +=
        "# HELP allot_kueue_leads 1 if this one governs, and not another replica.\n# TYPE allot_kueue_leads "
        "gauge\n";
    text += "allot_kueue_leads " + std::string{it_ != nullptr ? "1" : "0"} + '\n';
    text += "# HELP allot_kueue_writes_total Writes to the API server, without leases and events.\n";
    text += "# TYPE allot_kueue_writes_total counter\nallot_kueue_writes_total " +
            std::to_string(host_.writes()) + '\n';
    return text;
  }

  /// So that another one need not wait for it to be over.
  void give_up_lease() {
    if (!lease_ || !lease_->is_leader(time_now().steady)) return;
    lease_->release();
    constexpr instant patience = 2000;
    const instant end = time_now().steady + patience;
    for (moment now = time_now(); !lease_->is_released() && now.steady < end; now = time_now()) {
      lease_->step(now);
      server_.perform(50);
    }
  }

  daemon_options options_;
  signal_file signals_;
  credentials who_;
  curl_server server_;
  kueue_host host_;
  std::optional<lease> lease_;
  allot_governor::events_file events_;
  allot_governor::state_files files_;
  allot_governor::order_files orders_;
  std::optional<allot_governor::freeze_order> freeze_of_lease_;
  std::optional<endpoint> endpoint_;
  std::unique_ptr<governor> it_;
  std::vector<std::string> noted_;
  instant next_tick_ = 0;
  instant next_files_ = 0;
};

}  // namespace

int run_daemon(daemon_options options) {
  try {
    allot_governor::make_directories(options.directory);
    allot_governor::lock only;
    // One that only observes may run beside one that acts.
    if (const std::string why = only.take(options.directory + (options.observes ? "/lock.observe" : "/lock"));
        !why.empty()) {
      return allot_governor::complain(kueue_words, {why});
    }
    if (options.host.instance.empty()) options.host.instance = new_identity();
    options.host.seed = static_cast<std::uint64_t>(time_now().wall);
    loop{std::move(options)}.run();
    return 0;
  } catch (const std::exception& e) {
    return allot_governor::complain(kueue_words, {e.what()});
  }
}

int freeze_by_lease(const daemon_options& options, const std::string& span, const std::string& why) {
  const auto order = allot_governor::make_freeze(kueue_words, span, why);
  if (!order) return allot_governor::bad_usage_status;
  try {
    static_cast<void>(set_freeze_note(options, allot_governor::freeze_text(*order)));
    std::cout << "the holder of the Lease " << options.lease << " is " << allot_governor::sentence(*order)
              << '\n';
    return 0;
  } catch (const std::exception& e) {
    return allot_governor::complain(kueue_words, {e.what()});
  }
}

int thaw_by_lease(const daemon_options& options) {
  try {
    if (!set_freeze_note(options, {}).empty()) return 0;
    static_cast<void>(
        allot_governor::complain(kueue_words, {"the Lease " + options.lease + " has no freeze"}));
    return allot_governor::finding_status;
  } catch (const std::exception& e) {
    return allot_governor::complain(kueue_words, {e.what()});
  }
}

int check_cluster(const daemon_options& options) {
  try {
    curl_server server{credentials_for(options)};
    kueue_host host{server, options.host};
    constexpr instant patience = 30'000;
    const instant end = time_now().steady + patience;
    for (moment now = time_now(); !host.is_synced() && now.steady < end; now = time_now()) {
      host.step(now);
      server.perform(50);
    }
    allot_governor::changes all;
    if (const auto read = host.poll(all); !read) {
      std::cout << (host.problem().empty() ? read.text : host.problem()) << '\n';
      return allot_governor::finding_status;
    }
    for (const std::string& n : host.notes()) std::cout << n << '\n';
    std::size_t governed = 0;
    for (const auto& j : all.jobs) {
      if (j.is_governed) ++governed;
      if (!j.refused.empty()) std::cout << "Workload " << j.name << ": " << j.refused << '\n';
    }
    std::cout << host.served().size() << " ClusterQueues and " << governed << " of " << all.jobs.size()
              << " Workloads are governed\n";
    return host.served().empty() ? allot_governor::finding_status : 0;
  } catch (const std::exception& e) {
    return allot_governor::complain(kueue_words, {e.what()});
  }
}

}  // namespace allot_kueue
