// SPDX-License-Identifier: BSL-1.0
// Runs a fuzz target on mutations of JSON texts or tables, for so many seconds, with any compiler: values,
// words and whole members, or fields, rows and columns, are exchanged, doubled and left out, so most of what
// comes is JSON or a table and some of it valid.
//
//   mutate_scenario SECONDS SEED DIRECTORY...
//
// The last text is in "mutated": what goes wrong ends the program. A seed gives the same texts again.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using tokens = std::vector<std::string>;

class mutator {
 public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  [[nodiscard]] std::string mutate(const tokens& of, const tokens& other) {
    if (is_table(of)) return mutate_table(of, other);
    tokens all = of;
    // Mostly one, so that the result is often valid.
    const std::size_t most = below(3) == 0 ? 4 : 1;
    for (std::size_t changes = 1 + below(most); changes > 0 && !all.empty(); --changes) {
      below(3) == 0 ? change(all, other) : exchange_scalar(all);
    }
    std::string text;
    for (const std::string& t : all) text += t;
    return text;
  }

 private:
  /// Tables are cut at the ends of lines.
  [[nodiscard]] static bool is_table(const tokens& of) { return of.front().back() == '\n'; }

  [[nodiscard]] static tokens fields_of(const std::string& row) {
    tokens fields(1);
    for (const char c : row) {
      if (c == ',') fields.emplace_back();
      if (c != ',' && c != '\n') fields.back() += c;
    }
    return fields;
  }

  /// Fields, and now and then rows, columns and what separates them.
  [[nodiscard]] std::string mutate_table(const tokens& of, const tokens& other) {
    static const tokens odd{"",
                            "0",
                            "1",
                            "2",
                            "8",
                            "16",
                            "0.5",
                            "1.5",
                            "-1",
                            "0.0005",
                            "1000000.5",
                            "1e3",
                            "nan",
                            "a",
                            "b",
                            "r",
                            "nobody",
                            "true",
                            "False",
                            "H100",
                            "a100|h100",
                            "x\"",
                            "\"1,\n2\"",
                            "\x1b[1m",
                            "99999999999999999999",
                            "1000000000000",
                            "V100",
                            "job_id",
                            "gpus",
                            " 1"};
    tokens rows = of;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(4) == 0 ? below(rows.size()) : rows.size() - 1 - below(rows.size()) / 2;
      tokens fields = fields_of(rows[at]);
      std::string& field = fields[below(fields.size())];
      switch (below(12)) {
        case 0:
          rows.push_back(rows[at]);
          continue;
        case 1:
          if (rows.size() > 2) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
          continue;
        case 2:
          std::swap(rows[at], rows[below(rows.size())]);
          continue;
        case 3:
          rows[at] = other[below(other.size())];
          continue;
        case 4:
          fields.erase(fields.begin() + (&field - fields.data()));
          break;
        case 5:
          field += ',';
          break;
        case 6: {
          const tokens from = fields_of(rows[below(rows.size())]);
          field = from[below(from.size())];
          break;
        }
        default:
          field = odd[below(odd.size())];
      }
      rows[at].clear();
      for (const std::string& f : fields) rows[at].append(rows[at].empty() ? "" : ",").append(f);
      rows[at] += below(50) == 0 ? "\r" : "\n";
    }
    std::string text;
    for (const std::string& row : rows) text += row;
    return text;
  }

  /// A number for a number, or a string for a string.
  void exchange_scalar(tokens& all) {
    static const tokens numbers{"0",   "1",   "2",  "3",    "4",      "7",     "8",      "9",   "16", "64",
                                "0.5", "1.5", "-1", "0.25", "0.0001", "100.5", "999999", "1e3", "-0"};
    const auto is_number = [](const std::string& t) { return t[0] == '-' || ('0' <= t[0] && t[0] <= '9'); };
    std::vector<std::size_t> scalars;
    std::vector<std::size_t> strings;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_key = i + 1 < all.size() && all[i + 1] == ":";
      if (all[i].empty() || is_key) continue;
      if (all[i][0] == '"') strings.push_back(i);
      if (all[i][0] == '"' || is_number(all[i])) scalars.push_back(i);
    }
    if (scalars.empty()) return;
    std::string& token = all[scalars[below(scalars.size())]];
    token =
        is_number(token) ? numbers[below(numbers.size())] : std::string{all[strings[below(strings.size())]]};
  }

  void change(tokens& all, const tokens& other) {
    static const tokens odd{"-1",
                            "0",
                            "1",
                            "2",
                            "8",
                            "0.5",
                            "1.5",
                            "1e12",
                            "0.001",
                            "64",
                            "1000000",
                            "null",
                            "true",
                            "false",
                            "{}",
                            "[]",
                            "\"\"",
                            "\"all\"",
                            "\"none\"",
                            "\"q\"",
                            "\"gpu\"",
                            "\"\\u0000\"",
                            "\"unlimited\"",
                            "\"cluster\"",
                            "\"running\"",
                            "\"evicting\"",
                            "\"never\"",
                            "\"fifo\"",
                            "\"node\""};
    const std::size_t at = value_at(all, below(all.size()));
    const std::size_t end = end_of(all, at);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    const auto behind = all.begin() + static_cast<std::ptrdiff_t>(end);
    switch (below(6)) {
      case 0:
        all.erase(begin, behind);
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), odd[below(odd.size())]);
        break;
      case 1: {
        // A value of another text, or of another position in this one.
        const tokens& from = below(2) == 0 ? other : all;
        const std::size_t first = value_at(from, below(from.size()));
        const tokens value(from.begin() + static_cast<std::ptrdiff_t>(first),
                           from.begin() + static_cast<std::ptrdiff_t>(end_of(from, first)));
        all.erase(begin, behind);
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), value.begin(), value.end());
        break;
      }
      case 2: {
        tokens twice(begin, behind);
        twice.emplace_back(",");
        all.insert(begin, twice.begin(), twice.end());
        break;
      }
      case 3: {
        // With its key, and the comma behind it: trailing commas are allowed.
        std::size_t from = at;
        if (from >= 2 && all[from - 1] == ":") from -= 2;
        std::size_t to = end;
        if (to < all.size() && all[to] == ",") ++to;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(from),
                  all.begin() + static_cast<std::ptrdiff_t>(to));
        break;
      }
      case 4:
        std::swap(all[at], all[value_at(all, below(all.size()))]);
        break;
      default:
        all[below(all.size())].clear();
    }
  }

  /// The next token, from `i` on, at which a value or a key begins.
  [[nodiscard]] static std::size_t value_at(const tokens& all, std::size_t i) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t at = (i + k) % all.size();
      if (all[at].size() > 1 || all[at] == "{" || all[at] == "[" || (all[at] >= "0" && all[at] <= "9"))
        return at;
    }
    return i;
  }
  /// The end of the value that begins there.
  [[nodiscard]] static std::size_t end_of(const tokens& all, std::size_t at) {
    std::size_t open = 0;
    for (std::size_t i = at; i < all.size(); ++i) {
      if (all[i] == "{" || all[i] == "[") ++open;
      if ((all[i] == "}" || all[i] == "]") && open > 0) --open;
      if (open == 0) return i + 1;
    }
    return all.size();
  }

  std::mt19937_64 random_;
};

/// Strings, words and numbers, and single characters; without spaces and comments. Of a table, its rows.
[[nodiscard]] tokens tokens_of(std::string_view text, bool is_table) {
  tokens all;
  while (is_table && !text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    all.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  const auto is_word = [](char c) {
    return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '.' ||
           c == '-' || c == '+';
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2U : 1U;
      end = std::min(end + 1, text.size());
    } else if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (std::string_view{" \t\r\n"}.find(text[i]) == std::string_view::npos)
      all.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("expected SECONDS SEED DIRECTORY...\n", stderr);
    return 2;
  }
  const std::chrono::seconds span{std::atoll(argv[1])};
  std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  if (seed == 0) seed = std::random_device{}();
  std::vector<std::filesystem::path> files;
  for (int i = 3; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator{argv[i]}) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<tokens> texts;
  for (const std::filesystem::path& path : files) {
    std::ifstream file{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (tokens t = tokens_of(text, path.extension() == ".csv"); !t.empty()) texts.push_back(std::move(t));
  }
  if (texts.empty()) return 1;

  std::printf("seed %llu, %zu texts\n", static_cast<unsigned long long>(seed), texts.size());
  std::fflush(stdout);
  mutator mutate{seed};
  std::uint64_t cases = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (; std::chrono::steady_clock::now() - begin < span; ++cases) {
    const std::string text =
        mutate.mutate(texts[mutate.below(texts.size())], texts[mutate.below(texts.size())]);
    std::ofstream{"mutated", std::ios::binary} << text;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%llu cases\n", static_cast<unsigned long long>(cases));
  return cases == 0 ? 1 : 0;
}
