# SPDX-License-Identifier: BSL-1.0
# What the commands need: looks for it, and installs what is missing. Read by ../dev.

missing=()
# What is only installed along with something that is missing, or by `./dev setup`.
optional=()

needs_command() { # COMMAND PACKAGE
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

has_header() { # HEADER [LINES]
  printf '#include <%s>\n%s\n' "$1" "${2:-}" | "${CXX:-c++}" -E -std=c++20 -x c++ - >/dev/null 2>&1
}
needs_header() { # PACKAGE HEADER [LINES]
  has_header "${@:2}" || missing+=("$1")
}

# Clang's sanitizers are a package of their own.
has_clang_sanitizers() {
  echo 'int main() {}' | clang++-14 -fsanitize=address,undefined -x c++ - -o /dev/null >/dev/null 2>&1
}

# The names under which tests/lab/report_browser.sh looks for one.
has_browser() {
  local name
  for name in "${ALLOT_BROWSER:-chromium}" chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" >/dev/null 2>&1 && return 0
  done
  return 1
}

cmake_is_new_enough() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
  [ -n "$version" ] && [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

look_for() { # GROUP...: fills `missing` and `optional`
  local group
  missing=()
  optional=()
  needs_command "${CXX:-c++}" g++
  needs_header libboost1.81-dev boost/version.hpp $'#if BOOST_VERSION < 108100\n#error too old\n#endif'
  for group in "$@"; do
    case $group in
      build)
        cmake_is_new_enough || missing+=(cmake)
        needs_command ninja ninja-build
        needs_header libfmt-dev fmt/core.h
        needs_header libcli11-dev CLI/CLI.hpp
        # For traces that are packed with gzip.
        has_header zlib.h || optional+=(zlib1g-dev)
        # For objects of Kubernetes in YAML.
        has_header yaml-cpp/yaml.h || optional+=(libyaml-cpp-dev)
        ;;
      test)
        needs_header doctest-dev doctest/doctest.h
        needs_header librapidcheck-dev rapidcheck.h
        ;;
      bench) needs_header libbenchmark-dev benchmark/benchmark.h ;;
      lint)
        needs_command clang-format-14 clang-format-14
        needs_command clang-tidy-14 clang-tidy-14
        needs_command esbuild esbuild
        ;;
      docs) needs_command doxygen doxygen ;;
      packages)
        needs_command pkg-config pkg-config
        # For a virtual environment with Conan.
        python3 -c 'import ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
        ;;
      clang)
        needs_command clang++-14 clang-14
        has_clang_sanitizers || missing+=(libclang-rt-14-dev)
        ;;
      python)
        python3 -c 'import ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
        python3 -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' >/dev/null 2>&1 ||
          missing+=(python3-dev)
        ;;
      web) needs_command em++ emscripten ;;
      slurm)
        needs_header libslurm-dev slurm/slurm.h
        local package
        for package in slurmctld slurmd munge:munged slurm-client:sbatch slurmdbd mariadb-server-core:mariadbd; do
          PATH=$PATH:/usr/sbin needs_command "${package#*:}" "${package%:*}"
        done
        # Its plugins, job_submit/lua among them. slurmdbd and its database are for what needs accounting: QOS.
        compgen -G '/usr/lib/*/slurm-wlm/job_submit_lua.so' >/dev/null || missing+=(slurm-wlm-basic-plugins)
        ;;
      kueue)
        needs_header libcurl4-openssl-dev curl/curl.h $'#if LIBCURL_VERSION_NUM < 0x075800\n#error too old\n#endif'
        needs_header libyaml-cpp-dev yaml-cpp/yaml.h
        needs_header libmicrohttpd-dev microhttpd.h
        needs_command openssl openssl
        ;;
      # Opens the reports in the tests; where there is none, that test is skipped.
      browser) has_browser || missing+=(chromium) ;;
      everything)
        look_for build test bench lint docs packages python clang browser
        missing+=("${optional[@]}")
        ;;
    esac
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_missing() {
  as_root apt-get -o DPkg::Lock::Timeout=300 update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
      --no-install-recommends "${missing[@]}" "${optional[@]}"
}

# Sees to it that the packages of the groups are there: build, test, bench, lint, docs, packages, python, web, slurm, kueue, clang,
# browser; or everything.
needs() {
  look_for "$@"
  [ ${#missing[@]} -gt 0 ] || return 0
  if command -v apt-get >/dev/null 2>&1 && as_root true 2>/dev/null; then
    mkdir -p "$logs"
    printf '  %-34s ' "packages (${#missing[@]})"
    local begin=$SECONDS
    if install_missing </dev/null >"$logs/packages.txt" 2>&1; then
      printf 'ok  %4d s\n' $((SECONDS - begin))
    else
      printf 'FAILED\n\n'
      tail -n 15 "$logs/packages.txt"
    fi
    look_for "$@"
    [ ${#missing[@]} -gt 0 ] || return 0
  fi
  {
    printf '\nMissing here (Debian 12 names): %s\n' "${missing[*]}"
    printf 'On Debian 12, as root: apt-get install %s\n' "${missing[*]}"
    printf 'Elsewhere: g++ 12 or newer, CMake 3.25, Ninja, Boost 1.81 (headers), {fmt} 9, CLI11 2,\n'
    printf 'doctest 2.4.9 and rapidcheck for the tests, Google Benchmark for the benchmarks,\n'
    printf 'clang, clang-format and clang-tidy 14, doxygen 1.9 and esbuild for lint and .ci/run, Chromium for .ci/run.\n'
  } >&2
  exit 2
}
