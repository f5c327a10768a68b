// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api_server.hpp"
#include "backoff.hpp"
#include "objects.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace allot_kueue {

/// What is told of the objects of a kind.
class object_handler {
 public:
  object_handler() = default;
  object_handler(const object_handler&) = delete;
  object_handler& operator=(const object_handler&) = delete;
  virtual ~object_handler() = default;

  /// A new object, or one that has changed. `kind` and `apiVersion` may be missing: objects of a list don't
  /// have them.
  virtual void on_set(boost::json::object object) = 0;
  /// An object is no longer there, as of that version. Of one that was made again under its old name this
  /// comes before `on_set`.
  virtual void on_gone(const object_name& name, std::string_view version) = 0;
  /// All that was there at one time has been told: after each list.
  virtual void on_synced() = 0;
};

struct reflector_options {
  /// Of one namespace; empty: of all.
  std::string in_namespace{};
  std::string label_selector{};
  std::string field_selector{};
  /// How many objects of a list are asked for at once.
  std::int64_t page = 500;
  /// How long a watch lasts, in milliseconds; up to twice as long, so that many don't end at once.
  instant watch = 300'000;
  /// Of its back-off.
  std::uint64_t seed = 0;
};

/// Keeps a handler informed of all objects of a kind: it lists them, then watches them from the version of
/// the list on; what is cut is resumed, and what can't be is listed anew, and the difference told. It keeps
/// no object, only names, uids and versions. `step` never waits.
class reflector {
 public:
  reflector(api_server& server, resource of, object_handler& to, reflector_options options = {});
  reflector(const reflector&) = delete;
  reflector& operator=(const reflector&) = delete;
  ~reflector();

  /// Takes what has come, and goes on.
  void step(const moment& now);
  /// When there is something to do, on the steady clock, should nothing come.
  [[nodiscard]] instant due() const noexcept { return due_; }
  /// Whether a list has been told as a whole, ever.
  [[nodiscard]] bool is_synced() const noexcept { return is_synced_; }
  /// Since when, on the steady clock, what is told may be out of date, if there is a problem; and that
  /// problem.
  [[nodiscard]] const std::optional<instant>& stale_since() const noexcept { return stale_since_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// How many lists were begun: one, if nothing goes wrong.
  [[nodiscard]] std::uint64_t lists() const noexcept { return lists_; }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

 private:
  enum class phase : std::uint8_t { waiting, listing, watching };
  struct entry {
    object_name name;
    std::string uid;
    std::string version;
    /// Of the last list that has it.
    std::uint64_t seen = 0;
  };

  void open(instant now);
  void on_page(const response& answer, instant now);
  /// Whether the watch goes on.
  bool on_watch(const watch_reading& reading, instant now);
  bool on_line(std::string_view line, instant now);
  void end_list();
  bool set(boost::json::object object);
  void gone(const object_name& name, std::string_view version);
  /// Goes on after a while: with a watch from the last version, or with a list.
  void fail(std::string why, bool lists_anew, instant now, std::optional<instant> retry_after = std::nullopt);
  void works() noexcept;
  [[nodiscard]] request base() const;

  api_server& server_;
  resource of_;
  object_handler& to_;
  reflector_options options_;
  /// Of watches; a list that works does not reset it, else lists would follow each other.
  backoff backoff_;
  backoff list_backoff_;
  phase phase_ = phase::waiting;
  instant due_ = 0;
  ticket under_way_{};
  std::unordered_map<std::string, entry> known_;
  /// Of the last list or event; empty: there must be a list.
  std::string version_;
  std::string continue_;
  /// The next list is to be had in one piece: in pages its version was given up before it ended.
  bool is_unpaged_ = false;
  /// Since a watch last worked there was to be a list.
  bool is_anew_ = false;
  instant opened_ = 0;
  bool has_heard_ = false;
  bool is_synced_ = false;
  std::optional<instant> stale_since_;
  std::string problem_;
  std::uint64_t lists_ = 0;
};

}  // namespace allot_kueue
