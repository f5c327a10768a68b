#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What is done with each field of another system's schema: fields/NAME.tsv of the importers has a row for every
# line of fields/NAME.txt here, or one for a field that it is part of.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# whole TABLE SCHEMA: prints what is wrong.
whole() {
  awk -F '\t' '
    /^#/ || $0 == "" { next }
    FILENAME == ARGV[1] {
      if (NF != 3 || $1 == "" || $3 == "") print "line " FNR " is no row of three texts: " $0
      if ($2 != "carried" && $2 != "note" && $2 != "no effect") print "line " FNR ": \"" $2 "\" is nothing that is done"
      if ($1 in row) print "line " FNR ": " $1 " is there twice"
      row[$1] = 0
      next
    }
    {
      # "a.b[].c" is part of "a.b[]", that of "a.b", and that of "a".
      for (path = $1; !(path in row) && match(path, /[.[][^.[]*$/); ) path = substr(path, 1, RSTART - 1)
      if (path in row) row[path]++
      else print $1 " is in no row"
    }
    END { for (path in row) if (!row[path]) print path " is no field of the schema" }' "$1" "$2"
}

tables=0
for table in "$sources"/bench/lab/import/fields/*.tsv; do
  schema=$sources/tests/lab/fields/$(basename "$table" .tsv).txt
  [ -f "$schema" ] || fail "$table: there is no $schema"
  wrong=$(whole "$table" "$schema")
  [ -z "$wrong" ] || fail "$table: $wrong"
  tables=$((tables + 1))
done
[ "$tables" -gt 0 ] || fail 'there is no table'

# It finds what it is there for.
printf '# comment\na.b\tcarried\tx\nc\tignored\tx\nc\tnote\tx\nd\tnote\n' >table.tsv
printf '# comment\na.b[].e.f\na.bc\nc[]\n' >schema.txt
says "$(whole table.tsv schema.txt | sort | tr '\n' ';')" \
  'a.bc is in no row;d is no field of the schema;line 3: "ignored" is nothing that is done;line 4: c is there twice;line 5 is no row of three texts:*;'

conclude
