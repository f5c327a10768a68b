#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What variants of a policy do in an endless cluster: 16 nodes of 8 GPUs, to which jobs go on coming after the window
that is measured. Every job that is submitted in the window counts; one that still waits at the end with its wait so
far. Figures are ratios to a variant of reference on the same jobs (the same seed), and their quartiles over the seeds.

    windowed.py run    --out DIR [--program P] [--workloads teams,mix] [--loads 0.8,0.95] [--seeds 1-10]
                       [--estimates exact,tsafrir] [--resources 1] [--failures 0] [--variants base,default]
    windowed.py tables --out DIR [--against base] [--pool workload,load] [--of mean_wait_h]

`run` adds to DIR/points.csv what is not there yet: a row for every point and size of jobs. `tables` writes
DIR/ratios.csv and DIR/tables.md of all that is there, or of the part that the same options choose.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

DAY = 86400
NODES, GPUS_OF_NODE, CORES_OF_GPU, MIB_OF_GPU = 16, 8, 16, 256 * 1024
GPUS = NODES * GPUS_OF_NODE
SIZES = {"1": 1, "2-4": 4, "5-8": 8, "9-16": 16, "17-64": 64}  # the most GPUs of each

TEAMS = [{"name": "quota1", "nominal": "cluster", "inclusive": True, "preempt": {"children": True}},
         {"name": "quota1.1", "parent": "quota1", "nominal": 48},
         {"name": "quota1.2", "parent": "quota1", "nominal": 80}]
PHILLY = [{"name": "philly", "nominal": "cluster", "inclusive": True},
          {"name": "vc-6214e9", "parent": "philly", "nominal": 40},
          {"name": "vc-11cb48", "parent": "philly", "nominal": 48},
          {"name": "vc-b436b2", "parent": "philly", "nominal": 40}]
QUOTAS = {"teams": TEAMS, "mix": TEAMS, "philly128": PHILLY}

# What is set of `standard`; "program" is another program than --program, with its environment if need be.
VARIANTS = {"base": {"reservations": 0}, "default": {}}
for depth in (1, 2, 3, 8):
    for order, short in (("queue", "queue"), ("shortest_estimate", "short"), ("aged", "aged")):
        VARIANTS[f"{short}-{depth}"] = {"reservations": depth, "backfill": order}
ALIGNED = {"set": {"placement": "lifetime_alignment"}}
VARIANTS |= {
    "gather": {"gather_s": 7200},
    "gather-1h": {"gather_s": 3600},
    "gather-4h": {"gather_s": 14400},
    "gather-3": {"gather_s": 7200, "reservations": 3},
    "strict-4h": {"strict_after_s": 14400},
    "strict-24h": {"strict_after_s": 86400},
    "aligned": ALIGNED,
    "base+aligned": {"reservations": 0} | ALIGNED,
    "queue-3+aligned": VARIANTS["queue-3"] | ALIGNED,
}

POINT = ["workload", "load", "resources", "estimates", "failures", "days", "window", "seed", "variant", "policy"]
FIGURES = ["mean_wait_h", "gpu_wait_h", "p95_wait_h", "max_wait_h", "mean_slowdown", "p95_slowdown", "waiting",
           "useful", "evictions", "lost_gpu_h"]  # gpu_wait_h: the mean over GPUs instead of jobs
# Those that are differences, and what a smaller value counts as in a ratio: below it nobody cares.
DIFFERENCES = {"waiting", "useful"}
LEAST = {"mean_wait_h": 1 / 60, "gpu_wait_h": 1 / 60, "p95_wait_h": 1 / 60, "max_wait_h": 1 / 60, "evictions": 1,
         "lost_gpu_h": 1}


# ---- jobs ----

def generated(program, workload, load, days, seed):
    command = shlex.split(program) + ["generate", "--model", workload, "--load", load, "--days", str(days),
                                      "--gpus", str(GPUS), "--seed", str(seed), "--out", "-"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return list(csv.DictReader(text.splitlines()))


def bootstrapped(trace, load, days, seed, longest):
    """Days of a trace, drawn with replacement, no job longer than `longest`; all closer together or further apart, so
    that the work is what the load says."""
    by_day = {}
    for row in csv.DictReader(open(trace, newline="")):
        row["duration_s"] = str(min(float(row["duration_s"]), longest))
        by_day.setdefault(int(float(row["submit_s"]) // DAY), []).append(row)
    whole = [by_day[d] for d in sorted(by_day)][:-1]  # the last day is not whole
    draw = random.Random(f"days {seed}")
    jobs, work, n = [], 0.0, 0
    while work < float(load) * GPUS * DAY * days:
        for row in draw.choice(whole):
            job = dict(row, job_id=f"{n}-{row['job_id']}", submit_s=float(row["submit_s"]) % DAY + n * DAY)
            work += float(row["duration_s"]) * float(row["gpus"])
            jobs.append(job)
        n += 1
    closer = work / (float(load) * GPUS * DAY * n)
    for job in jobs:
        job["submit_s"] = f"{job['submit_s'] * closer:.3f}"
    return [job for job in jobs if float(job["submit_s"]) < days * DAY]


POPULAR = [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 28800, 36000, 43200, 64800, 86400, 129600,
           172800, 259200, 604800, 1209600]


def as_people_give_them(draw, seconds):
    """As `allot generate --estimates tsafrir` (Tsafrir, Etsion and Feitelson 2005)."""
    low = math.ceil(seconds / 300)
    high = max(low, seconds * 10 // 300)
    popular = [p for p in POPULAR if low * 300 <= p <= high * 300]
    return draw.choice(popular) if popular and draw.random() < 0.9 else draw.randint(low, high) * 300


def set_estimates(jobs, kind, seed):
    """exact; tsafrir; half: half of the jobs as people give them, the others none; none."""
    draw, halves = random.Random(f"estimates {seed}"), random.Random(f"halves {seed}")
    for job in jobs if kind != "none" else []:
        seconds = max(1, math.ceil(float(job["duration_s"])))
        job["estimate_s"] = seconds if kind == "exact" else as_people_give_them(draw, seconds)
        if kind == "half" and halves.random() < 0.5:
            job["estimate_s"] = ""


def set_hosts(jobs, resources, seed):
    """3: CPU and memory sometimes bind, on nodes and in quotas. 3-loose: they never do."""
    draw = random.Random(f"hosts {seed}")
    for job in jobs if resources != "1" else []:
        gpus = float(job["gpus"])
        cores, gib = 4, 32
        if resources == "3":
            cores = draw.choices([4, 8, 12, 16, 32], [3, 3, 2, 2, 1])[0]
            gib = draw.choices([32, 64, 128, 256, 512], [3, 3, 2, 2, 1])[0]
        if gpus > GPUS_OF_NODE / 2:  # they have whole nodes, or more than half of one
            cores, gib = min(cores, CORES_OF_GPU), min(gib, MIB_OF_GPU // 1024)
        job["cpu_milli"], job["memory_mib"] = round(gpus * cores * 1000), round(gpus * gib * 1024)


def scenario(workload, resources, policy, failures, days, seed):
    amounts = {"gpu": 1, "cpu": CORES_OF_GPU, "memory_mib": MIB_OF_GPU} if resources != "1" else {"gpu": 1}
    quotas = [q if q["nominal"] == "cluster" else q | {"nominal": {r: q["nominal"] * a for r, a in amounts.items()}}
              for q in QUOTAS[workload]]
    node = {"name": "node", "count": NODES, "gpus": GPUS_OF_NODE}
    if resources != "1":
        node |= {"cpu_milli": GPUS_OF_NODE * CORES_OF_GPU * 1000, "memory_mib": GPUS_OF_NODE * MIB_OF_GPU}
    events = []
    draw = random.Random(f"failures {seed}")
    for n in range(NODES) if failures > 0 else []:
        t = draw.expovariate(failures / DAY)
        while t < days * DAY:
            back = t + draw.uniform(1, 24) * 3600
            events += [{"at_s": round(t), "node_down": {"node": f"node-{n}"}},
                       {"at_s": round(back), "node_up": {"node": f"node-{n}"}}]
            t = back + draw.expovariate(failures / DAY)
    return {"format": "allot-scenario/1", "resources": list(amounts), "policy": {"preset": "standard"} | policy,
            "cluster": {"nodes": [node]}, "quotas": quotas, "events": sorted(events, key=lambda e: e["at_s"])}


# ---- replays ----

def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(p * len(values)))]


def figures(jobs, useful):
    waits = [float(j["wait_s"]) / 3600 for j in jobs]
    slowdowns = []
    for j in jobs:
        run = float(j["duration_s"])
        there = float(j["jct_s"]) if j["jct_s"] else float(j["wait_s"]) + run + float(j["lost_s"])
        slowdowns.append(max(1.0, there / max(run, 10)))
    gpus = [float(j["gpus"]) for j in jobs]
    return [statistics.fmean(waits), sum(w * g for w, g in zip(waits, gpus)) / sum(gpus), percentile(waits, 0.95),
            max(waits), statistics.fmean(slowdowns), percentile(slowdowns, 0.95),
            sum(j["state"] == "waiting" for j in jobs), useful, sum(int(j["preemptions"]) for j in jobs),
            sum(float(j["lost_s"]) * g for j, g in zip(jobs, gpus)) / 3600]


def replay(program, work, scene, options):
    """A list of figures by size of jobs; of all under "all"."""
    (work / "scenario.json").write_text(json.dumps(scene))
    command = shlex.split(program) + ["replay", str(work / "scenario.json"), "--trace", str(work / "jobs.csv"), "--out",
                                      str(work / "run"), "--force", "--until", f"{options.days}d", "--window",
                                      ",".join(f"{d}d" for d in options.window), "--tenants-step", f"{options.days}d"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: {done.stderr}")
    useful = 100 * json.loads((work / "run" / "summary.json").read_text())["useful_utilisation"]
    by_size = {"all": []}
    begin, end = (d * DAY for d in options.window)
    for job in csv.DictReader(open(work / "run" / "jobs.csv", newline="")):
        if job["state"] in ("refused", "future"):
            sys.exit(f"a job is {job['state']}: {job}")
        if begin <= float(job["submit_s"]) < end:
            size = next(s for s, most in SIZES.items() if float(job["gpus"]) <= most)
            by_size.setdefault(size, []).append(job)
            by_size["all"].append(job)
    return {s: [len(by_size[s])] + figures(by_size[s], useful) for s in ["all", *SIZES] if by_size.get(s)}


def read(path):
    return list(csv.DictReader(open(path, newline=""))) if path.exists() else []


def run(options):
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "points.csv"
    done = {tuple(row[k] for k in POINT) for row in read(path)}
    if not done:
        path.write_text(",".join(POINT + ["size", "jobs"] + FIGURES) + "\n")
    window = "-".join(str(d) for d in options.window)
    with tempfile.TemporaryDirectory() as directory, open(path, "a", newline="") as out:
        work, rows = pathlib.Path(directory), csv.writer(out, lineterminator="\n")
        for seed, workload, load, resources, estimates in (
                (s, w, l, r, e) for s in options.seeds for w in options.workloads for l in options.loads
                for r in options.resources for e in options.estimates):
            made = False
            for name in options.variants:
                policy = dict(VARIANTS[name])
                key = (workload, load, resources, estimates, str(options.failures), str(options.days), window,
                       str(seed), name, json.dumps(policy, sort_keys=True))
                if key in done:
                    continue
                if not made:
                    jobs = (bootstrapped(options.traces / workload / "jobs.csv", load, options.days, seed,
                                         options.longest * DAY)
                            if workload == "philly128" else
                            generated(options.program, workload, load, options.days, seed))
                    set_estimates(jobs, estimates, seed)
                    set_hosts(jobs, resources, seed)
                    with open(work / "jobs.csv", "w", newline="") as file:
                        writer = csv.DictWriter(file, list(jobs[0]), lineterminator="\n")
                        writer.writeheader()
                        writer.writerows(jobs)
                    made = True
                program = policy.pop("program", options.program)
                scene = scenario(workload, resources, policy, options.failures, options.days, seed)
                for size, values in replay(program, work, scene, options).items():
                    rows.writerow([*key, size, values[0], *(f"{v:.6g}" for v in values[1:])])
                out.flush()
            print(f"seed {seed} {workload} {load} {resources} {estimates}", file=sys.stderr)


# ---- tables ----

def compared(figure, value, reference):
    if figure in DIFFERENCES:
        return value - reference
    least = LEAST.get(figure, 0)
    return max(value, least) / max(reference, least)


def quartiles(values):
    q = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return q[1], q[0], q[2]


def chosen(row, options):
    return (row["workload"] in options.workloads and row["load"] in options.loads and row["resources"] in
            options.resources and row["estimates"] in options.estimates and int(row["seed"]) in options.seeds and
            float(row["failures"]) == options.failures and row["variant"] in [*options.variants, options.against] and
            row["window"] == "-".join(str(d) for d in options.window) and row["days"] == str(options.days))


def tables(options):
    rows = [row for row in read(options.out / "points.csv") if chosen(row, options)]
    # A variant whose definition has changed counts as it was run last.
    points = {tuple(row[k] for k in POINT[:-1]) + (row["size"],): row for row in rows}
    setting = ["workload", "load", "resources", "estimates", "failures"]
    groups = {}
    for row in points.values():
        reference = points.get(tuple(row[k] for k in POINT[:-2]) + (options.against, row["size"]))
        if reference is None or row["variant"] == options.against:
            continue
        where = tuple("*" if k in options.pool else row[k] for k in setting)
        for figure in FIGURES:
            groups.setdefault((where, row["variant"], row["size"], figure), []).append(
                (compared(figure, float(row[figure]), float(reference[figure])), float(reference[figure])))
    with open(options.out / "ratios.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(setting + ["variant", "size", "figure", "as", "pairs", "median", "quartile_1", "quartile_3",
                                   "reference_median"])
        for (where, variant, size, figure), values in groups.items():
            writer.writerow([*where, variant, size, figure, "difference" if figure in DIFFERENCES else "ratio",
                             len(values), *(f"{v:.4g}" for v in quartiles([v for v, _ in values])),
                             f"{statistics.median(r for _, r in values):.4g}"])
    markdown(options, groups)


def cell(values, digits=2):
    return "{1:.{0}f} ({2:.{0}f}–{3:.{0}f})".format(digits, *quartiles(values)) if values else ""


def markdown(options, groups):
    by_size = options.of.removesuffix("_h").replace("_", " ")
    columns = [(f"{by_size}: {s}", s, options.of, 2) for s in ["all", *SIZES]]
    columns += [(title, "all", figure, digits) for title, figure, digits in [
        ("a GPU's wait", "gpu_wait_h", 2), ("p95 wait", "p95_wait_h", 2), ("slowdown", "mean_slowdown", 2),
        ("p95 slowdown", "p95_slowdown", 2), ("still waiting", "waiting", 0), ("useful, points", "useful", 1),
        ("evictions", "evictions", 2), ("lost GPU-h", "lost_gpu_h", 2)]]
    titles = ["variant", "pairs", "better"] + [title for title, *_ in columns]
    lines = [f"Ratios to `{options.against}` on the same jobs: median (quartiles). Still waiting and useful:",
             "differences. Better: in how many pairs the first is lower. Last row: hours, jobs, percent.",
             f"{options.days} days, jobs submitted on days {options.window[0]} to {options.window[1]}.", ""]
    for where in sorted({key[0] for key in groups}):
        workload, load, resources, estimates, failures = where
        lines += [f"### {workload}, load {load}, resources {resources}, estimates {estimates}, failures {failures}", "",
                  "| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
        same = 0 if options.of in DIFFERENCES else 1
        variants = [v for v in VARIANTS if (where, v, "all", options.of) in groups]
        for variant in variants:
            of = [[v for v, _ in groups.get((where, variant, size, figure), [])] for _, size, figure, _ in columns]
            cells = [cell(values, column[3]) for values, column in zip(of, columns)]
            lines.append(f"| `{variant}` | {len(of[0])} | {sum(v < same for v in of[0])} | " + " | ".join(cells) + " |")
        of = [[r for _, r in groups.get((where, variants[0], size, figure), [])] for _, size, figure, _ in columns]
        lines += [f"| `{options.against}` itself | {len(of[0])} | | " +
                  " | ".join(f"{statistics.median(values):.3g}" if values else "" for values in of) + " |", ""]
    text = "\n".join(lines)
    (options.out / options.markdown).write_text(text)
    print(text)


# ---- the command line ----

def listed(text):
    return text.split(",")


def numbers(text):
    spans = [part.split("-") for part in text.split(",")]
    return [n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "tables"])
    add = parser.add_argument
    add("--out", type=pathlib.Path, required=True, help="the directory of the tables")
    add("--program", default="build/release/allot")
    add("--traces", type=pathlib.Path, help="has philly128/jobs.csv")
    add("--workloads", type=listed, default=["teams", "mix"], help="teams, mix, philly128 (days of the trace)")
    add("--loads", type=listed, default=["0.8", "0.95"])
    add("--seeds", type=numbers, default=numbers("1-10"))
    add("--resources", type=listed, default=["1"], help="1, 3 (CPU and memory sometimes bind), 3-loose (never)")
    add("--estimates", type=listed, default=["exact", "tsafrir"], help="exact, tsafrir, half (of those), none")
    add("--failures", type=float, default=0, help="the part of the nodes that fails a day, as in 0.01")
    add("--variants", type=listed, help=", ".join(VARIANTS))
    add("--variant", action="append", default=[], metavar="NAME=JSON", help="one more: what it sets of standard")
    add("--days", type=int, default=12)
    add("--window", type=numbers, default=[2, 9], metavar="FROM,TO")
    add("--longest", type=int, default=3, help="philly128: no job runs longer, in days")
    add("--against", default="base", help="the variant that the others are compared with")
    add("--pool", type=listed, default=[], help="workload, load, ...: pairs of all of these in one table")
    add("--of", choices=FIGURES, default="mean_wait_h", help="what the table has by size; ratios.csv has all")
    add("--markdown", default="tables.md", help="the name of the table's file")
    options = parser.parse_args()
    for text in options.variant:
        name, _, value = text.partition("=")
        VARIANTS[name] = json.loads(value)
    options.variants = options.variants or list(VARIANTS)
    if unknown := [v for v in options.variants if v not in VARIANTS]:
        parser.error(f"no variant {unknown[0]}")
    if options.command == "run" and "philly128" in options.workloads and not options.traces:
        parser.error("philly128 needs --traces")
    (run if options.command == "run" else tables)(options)


main()
