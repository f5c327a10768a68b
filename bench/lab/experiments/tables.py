#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The tables of README.md and bench/lab/README.md, from the sweeps of headline.json, reservations.json and
reservation_options.json: what ./dev experiments writes.

    tables.py PRINTED TABLE RESERVATIONS OPTIONS
        what `allot sweep` printed of the first, and the table.json that it wrote of each

A table stands between <!-- headline: NAME --> and <!-- end -->. Only scenarios that were run are written.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[3]


def words(text):
    return text.replace("-", "−", 1) if re.match(r"-\d", text) else text


def printed(text):
    """By scenario and policy: what `allot sweep` printed of each figure, by the titles of its columns."""
    tables = {}
    scenario = titles = None
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if match := re.match(r"(\S+), \d+ seeds?$", line):
            scenario = tables.setdefault(match[1], {})
        elif cells[0] == "policy":
            titles = cells
        elif scenario is not None and line.startswith("  ") and len(cells) == len(titles):
            scenario.setdefault(cells[0], {}).update(zip(titles[1:], map(words, cells[1:])))
    return tables


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles).lstrip() + " |", "|---|" + "---:|" * (len(titles) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def replace(file, name, table):
    path = root / file
    text = path.read_text()
    start, end = f"<!-- headline: {name} -->\n", "\n<!-- end -->"
    if text.count(start) != 1:
        sys.exit(f"{file}: expected {start.strip()} once")
    before, rest = text.split(start)
    after = rest.split(end, 1)[1]
    path.write_text(before + start + table + end + after)


hours = ["wait_s/mean", "sizes/5-8/wait_s/mean", "sizes/9-16/wait_s/mean", "sizes/17-64/wait_s/mean"]
waits = ["all", "5 to 8 GPUs", "9 to 16", "17 to 64", "useful", "preemptions", "lost GPU-h"]


def waits_of(row):
    of = {name: figure["mean"] for name, figure in row["figures"].items() if figure}
    return ([f"{of[name] / 3600:.1f}" for name in hours] +
            [f"{100 * of['useful_utilisation']:.1f} %", f"{of['preemptions']:,.0f}", f"{of['lost_gpu_h']:,.0f}"])


def reservations(rows):
    """What each number of reservations gives, and costs, with each kind of estimates, at the higher load."""
    by_workload = {}
    highest = max(float(row["load"]) for row in rows)
    for row in rows:
        workload, estimates = row["scenario"].split("-")
        if float(row["load"]) != highest:
            continue
        # Without estimates there are no reservations, whatever their number: one row is enough.
        if estimates == "none" and row["policy"] in ("standard-1", "standard-3", "standard-4", "standard-8"):
            continue
        by_workload.setdefault(workload, []).append([estimates, f"`{row['policy']}`"] + waits_of(row))
    for workload, rows in by_workload.items():
        replace("bench/lab/README.md", f"reservations-{workload}",
                markdown(["estimates", "policy"] + waits, rows))


def reservation_options(rows):
    """What each option gives, and costs, with each kind of estimates for which it does something."""
    table = []
    for estimates in ("exact", "tsafrir", "none"):
        options = ["standard", "gather"] if estimates == "none" else ["standard", "backoff", "lifetime_alignment"]
        by_policy = {row["policy"]: row for row in rows if row["scenario"] == f"teams-{estimates}"}
        table += [[estimates, f"`{option}`"] + waits_of(by_policy[option]) for option in options]
        table += [[estimates, "`wait_if_loss_percent`"] + waits_of(row) for row in rows
                  if row["scenario"] == f"waiting-{estimates}" and row["policy"] == "standard"]
    replace("bench/lab/README.md", "reservation-options", markdown(["estimates", "option"] + waits, table))


def main():
    reservations(json.loads(pathlib.Path(sys.argv[3]).read_text())["rows"])
    reservation_options(json.loads(pathlib.Path(sys.argv[4]).read_text())["rows"])
    tables = printed(pathlib.Path(sys.argv[1]).read_text())
    columns = ["utilisation", "wait", "p99", "worst tenant", "sharing anomaly", "completion", "preemptions",
               "lost GPU-h", "Jain"]
    for scenario, policies in tables.items():
        rows = [[policy] + [figures[c] for c in columns] for policy, figures in policies.items()]
        replace("bench/lab/README.md", scenario, markdown(["policy"] + columns, rows))
    if {"philly128", "mix"} - tables.keys():
        return
    figures = {(r["scenario"], r["policy"]): r["figures"] for r in
               json.loads(pathlib.Path(sys.argv[2]).read_text())["rows"]}
    by_row = {}
    for policy, philly in tables["philly128"].items():
        mix = tables["mix"][policy]
        of = figures["philly128", policy]
        lost = of["lost_gpu_h"]["mean"] / of["allocated_gpu_h"]["mean"]
        row = (philly["wait"], philly["worst tenant"], philly["sharing anomaly"], philly["preemptions"],
               f"{lost:.0%}".replace("%", " %"), mix["wait"], mix["sharing anomaly"],
               re.sub(r"\d[\d,.]*", lambda n: f"{round(float(n[0].replace(',', ''))):,}", mix["preemptions"]))
        row = tuple("0" if cell in ("0 ± 0",) else cell.replace("0 s ± 0 s", "0 s") for cell in row)
        by_row.setdefault(row, []).append(f"`{policy}`")
    titles = ["", "philly128: mean wait", "of the worst tenant", "sharing anomaly", "preemptions", "lost",
              "mix: mean wait", "sharing anomaly", "preemptions"]
    replace("README.md", "both", markdown(titles, [[", ".join(p), *row] for row, p in by_row.items()]))


main()
