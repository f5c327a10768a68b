#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# ./dev release: what it refuses, and the archive that it writes, in a repository with the files of this one.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
for tool in git cmake gzip sha256sum; do
  command -v $tool >/dev/null 2>&1 || { echo "needs $tool" && exit 77; }
done
unset $(git rev-parse --local-env-vars)

version=$(sed -nE 's/.*int version_(major|minor|patch) = ([0-9]+);/\2/p' "$sources/include/allot/core/version.hpp" | paste -sd.)
as_somebody=(-c user.name=allot -c user.email=allot@localhost -c core.hooksPath=/dev/null -c commit.gpgsign=false)

rm -rf repository && mkdir repository
for part in .cmake .dev CHANGELOG.md CMakeLists.txt LICENSE README.md conanfile.py dev examples include packaging; do
  cp -r "$sources/$part" repository/
done
mkdir -p repository/tests/examples && cp "$sources/tests/examples/quickstart.expected" repository/tests/examples/
cd repository || exit 1
echo /build/ >.gitignore
git init -q
commit() { git add -A && git "${as_somebody[@]}" commit -qm "$1"; }

# refused PATTERN: it exits with 1, says so, and writes nothing.
refused() {
  rm -rf build
  ./dev release >../out 2>&1 && fail "not refused: $1"
  [[ $(<../out) == *$1* ]] || fail "expected *$1*, found: $(<../out)"
  [ ! -e build/release-files ] || fail "refused, but written: $1"
}

sed -i "s/^## \[$version\] - .*/## [$version] - unreleased/" CHANGELOG.md
commit "not dated"
refused "the section of $version has no date"
sed -i "s/^## \[$version\] - unreleased/## [$version] - 2026-12-01/" CHANGELOG.md
refused "the working tree is not clean"
commit "dated"
for file in conanfile.py packaging/vcpkg/allot/vcpkg.json; do
  sed -i "s/$version/9.9.9/" "$file"
  refused "$file: the version is 9.9.9, that of core/version.hpp is $version"
  git checkout -q "$file"
done
sed -i 's/GIT_TAG v[0-9.]*/GIT_TAG v9.9.9/' README.md
refused "GIT_TAG v9.9.9: the version is $version"
git checkout -q README.md
git tag "v$version" HEAD~1
refused "the tag v$version is on another commit"
git tag -d "v$version" >/dev/null

./dev release >../out 2>&1 || fail "refused: $(<../out)"
archive=build/release-files/allot-$version.tar.gz
(cd build/release-files && sha256sum --quiet -c ./*.sha256) || fail "the checksum is not that of the archive"
tar -tzf "$archive" >../files || fail "the archive can't be read"
grep -qx "allot-$version/include/allot/allot.hpp" ../files || fail "the headers are not in the archive"
git archive --format=tar --prefix="allot-$version/" HEAD | gzip -n | cmp -s - "$archive" ||
  fail "the archive is not that of the commit"
cd ..
conclude
