#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Published results beside ours: what ./dev paper runs.

    published.py PROGRAM OUT [--traces DIR] [--write] [NAME...]
    published.py --list

PROGRAM is the program allot with the policies of examples/gallery. Without a NAME all are run. Each prints what was
published, what comes out here, and how they compare, and leaves OUT/NAME/figures.csv and OUT/NAME/chart.svg. `--write`
writes the table of bench/lab/README.md. Traces that may not be shipped are below DIR; a result whose trace is not there
is left out, and says so; the exit status is then 1 if it was asked for by its NAME.

equal         the same, to the digits that were published
within x %    no figure is further off
shape         the published order of the figures, where one stands for each policy or class
other         none of these
"""
import argparse
import collections
import concurrent.futures
import csv
import hashlib
import html
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parents[2]

# A figure: what it is, what was published (as text, so that its digits count), and what comes out here.
Figure = collections.namedtuple("Figure", "label published ours")


class Missing(Exception):
    """A trace that is not there."""


class Run:
    def __init__(self, program, out, traces):
        self.program, self.out, self.traces = program, out, traces

    def trace(self, path):
        file = self.traces / path if self.traces else None
        if file is None or not file.exists():
            raise Missing(f"needs {path}")
        return file

    def allot(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"allot {' '.join(map(str, arguments))}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def replay(self, name, *arguments):
        """The summary of a replay whose files are in OUT/name."""
        self.allot("replay", *arguments, "--out", self.out / name, "--force")
        return json.loads((self.out / name / "summary.json").read_text())

    def jobs(self, name):
        with open(self.out / name / "jobs.csv", newline="") as file:
            return list(csv.DictReader(file))

    def write(self, name, text):
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / name
        path.write_text(text)
        return path


def each(function, items):
    """As many at once as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


# --- The results


def fgd(run):
    """The means over ten seeds when the pods that have arrived ask for all GPUs."""
    policies = {"Random": "random", "DotProd": "dot_product", "BestFit": "best_fit", "FGD": "fgd",
                "GpuClustering": "gpu_clustering", "GpuPacking": "gpu_packing"}
    with open(run.trace("openb/expected_at_100pct.csv"), newline="") as file:
        expected = list(csv.DictReader(file))
    nodes = run.trace("openb/openb_node_list_gpu_node.csv")

    def fill(row):
        allocated = []
        for seed in range(42, 52):
            rows = csv.DictReader(run.allot(
                "fill", "--nodes-csv", nodes, "--pods-csv", run.trace(f"openb/{row['workload']}.csv"),
                "--policy", policies[row["policy"]], "--seed", seed).splitlines())
            allocated.append(next(float(r["gpu_allocation_pct"]) for r in rows if r["arrived_pct"] == "100"))
        return Figure(f"{row['workload'].removeprefix('openb_pod_list_')}, {row['policy']}",
                      row["gpu_allocation_pct_mean"], mean(allocated))

    return each(fill, expected)


def easy(run):
    """Each start of 10,000 jobs of KTH, as EASY backfilling in order of submission."""
    with open(run.trace("kth/kth10k_easy_starts.csv"), newline="") as file:
        starts = {row["job_id"]: float(row["start_s"]) for row in csv.DictReader(file)}
    run.replay("easy", "--nodes", "100x1", "--trace", run.trace("kth/kth10k.csv"), "--policy", "easy")
    same = sum(float(job["start_s"]) == starts[job["job_id"]] for job in run.jobs("easy"))
    return [Figure("starts that are equal", str(len(starts)), same)]


def helios(run):
    """FIFO and SJF of its simulator on philly128."""
    trace = run.trace("philly128/jobs.csv")
    figures = []
    for policy, published in (("fifo", ("84976.3", "17614", "80230.0")), ("sjf", ("10647.0",))):
        summary = run.replay(policy, "--nodes", "16x8", "--trace", trace, "--policy", policy)
        ours = (summary["jct_s"]["mean"], summary["jct_s"]["p50"], summary["queue_s"]["mean"])
        names = ("mean completion", "median completion", "mean queueing")
        figures += [Figure(f"{policy.upper()}, {name}, s", p, o) for name, p, o in zip(names, published, ours)]
    return figures


def helios_srtf(run):
    """Their simulator saves all work, and adds the cost of an eviction, by the job's GPUs, to what is left. It counts
    GPUs, and places jobs only after evicting others; here a job is evicted only if one starts that is shorter by more
    than that cost."""
    with open(run.trace("philly128/jobs.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        gpus = float(row["gpus"])
        row |= {"checkpoint_s": 0, "restart_s": 7 if gpus == 1 else 30 if gpus <= 8 else 60}
    run.out.mkdir(parents=True, exist_ok=True)
    with open(run.out / "jobs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    summary = run.replay("srtf", "--nodes", "16x8", "--trace", run.out / "jobs.csv", "--policy", "srtf")
    return [Figure("mean completion, s", "7628.1", summary["jct_s"]["mean"]),
            Figure("preemptions", "25204", summary["preemptions"])]


def kai_division(run):
    figures = []
    for policy in ("standard", "runai"):
        quotas = json.loads(run.allot("decide", "--rounds", 200, "--policy", policy, here / "r3_division.json"))["quotas"]
        figures += [Figure(f"{policy}, weight {weight}", published, quotas[name]["used"]["gpu"])
                    for name, weight, published in (("three", 3, "70"), ("one", 1, "30"))]
    return figures


def kai_time(run):
    """Two queues of jobs that want all 16 GPUs, over 1,024 cycles of a second: allocations alternate."""
    jobs = [{"id": f"{quota}-{i}", "quota": quota, "request": {"gpu": 16}, "duration_s": 1000000, "checkpoint_s": 0}
            for quota in ("q1", "q2") for i in range(100)]
    scenario = run.write("kai_time.json", json.dumps({
        "format": "allot-scenario/1", "policy": {"preset": "runai", "k": 1, "half_life_s": 128, "window_s": 256},
        "cluster": {"nodes": [{"name": "n", "gpus": 16}]},
        "quotas": [{"name": "root", "nominal": "cluster", "inclusive": True}, {"name": "dep", "parent": "root"},
                   {"name": "q1", "parent": "dep"}, {"name": "q2", "parent": "dep"}], "jobs": jobs}))
    tenants = run.replay("kai_time", scenario, "--until", 1024)["tenants"]
    return [Figure(f"{quota}, its half of 16 GPUs", "8", tenants[quota]["allocated_gpu_h"] * 3600 / 1024) for quota in ("q1", "q2")]


def runai(run):
    """What a, b, c and d use when all of them want more than their 4, 2, 2 and 8."""
    figures = []
    for policy in ("standard", "runai"):
        shown = run.allot("replay", here / "r4_over_quota.json", "--policy", policy, "--at", 3000)
        used = {line.split()[1]: line.split()[3] for line in shown.splitlines()
                if len(line.split()) == 10 and line.split()[1] in "abcd"}
        figures += [Figure(f"{policy}, {quota}", published, float(used[quota]))
                    for quota, published in zip("abcd", ("4", "2", "2", "8"))]
    return figures


def gavel_levels(run):
    quotas = json.loads(run.allot("decide", here / "r5_multi_level.json"))["quotas"]
    return [Figure(f"entity {entity}, {kind}", published, quotas[f"entity-{entity}{job}"]["entitled"]["gpu"])
            for entity, row in ((1, ("1.5", ".167", ".333")), (2, ("3", ".333", ".667")), (3, ("4.5", ".5", "1.0")))
            for kind, job, published in zip(("in all", "weight 1", "weight 2"), ("", "/job-0", "/job-1"), row)]


def kueue_scenario(run, name, cohorts, queues, sets, nodes=None):
    """The queues and workloads of one of Kueue's generator files: `sets` has class, count, interval and run time in
    milliseconds, priority, request, and what else the job says. An evicted one runs again from its beginning."""
    quotas, jobs = [], []
    for cohort in range(cohorts):
        quotas.append({"name": f"cohort-{cohort}"})
        for queue in range(queues):
            quota = f"cq-{queue}-cohort-{cohort}"
            quotas.append({"name": quota, "parent": f"cohort-{cohort}", "nominal": {"cpu": 20}, "borrow": {"cpu": 100},
                           "preempt": {"within": "lower_priority", "reclaim": "any"}})
            for kind, count, every, runs, priority, request, more in sets:
                jobs += [{"id": f"{kind}-{quota}-{i}", "quota": quota, "class": kind, "submit_s": every * i / 1000,
                          "duration_s": runs / 1000, "priority": priority,
                          **({} if "pod_sets" in more else {"request": {"cpu": request}}), **more} for i in range(1, count + 1)]
    scenario = {"format": "allot-scenario/1", "policy": "kueue", "resources": ["cpu"], "quotas": quotas, "jobs": jobs}
    if nodes:
        scenario["cluster"] = nodes
    path = run.write(f"{name}.json", json.dumps(scenario))
    return run.replay(name, path)


def kueue_figures(summary, in_all, waits):
    return [Figure(f"{kind}, mean time to admission, s", wait, summary["classes"][kind]["queue_s"]["mean"])
            for kind, wait in waits] + [Figure("all, s", in_all, summary["makespan_s"])]


def kueue(run):
    """Means of 5 runs."""
    return kueue_figures(kueue_scenario(run, "kueue", 5, 6, [
        ("small", 350, 100, 200, 50, 1, {}), ("medium", 100, 500, 500, 100, 5, {}), ("large", 50, 1200, 1000, 200, 20, {})]),
        "351.1", (("small", "215.5"), ("medium", "76.8"), ("large", "6.7")))


def kueue_large(run):
    """Means of 19 runs."""
    return kueue_figures(kueue_scenario(run, "kueue-large", 10, 100, [
        ("small", 35, 60, 150, 50, 1, {}), ("medium", 11, 300, 350, 100, 5, {}), ("large", 4, 700, 700, 200, 20, {})]),
        "1179.4", (("small", "700.4"), ("medium", "256.4"), ("large", "98.8")))


def kueue_tas(run):
    """Means of 10 runs. Classes as in the baseline, in pods that share a rack, prefer to, or do so in slices."""
    sets = []
    for size, every, runs, priority, cpu, pods, together, counts in (
            ("small", 100, 200, 50, 0.5, 2, 1, (120, 120, 110)), ("medium", 500, 500, 100, 1.25, 4, 2, (34, 33, 33)),
            ("large", 1200, 1000, 200, 2.5, 8, 4, (17, 17, 16))):
        kinds = {"required": {"pods": pods, "topology": {"required": "rack"}},
                 "preferred": {"pods": pods, "topology": {"preferred": "rack"}},
                 "balanced": {"pod_sets": [{"name": "main", "request": {"cpu": cpu}, "pods": pods,
                                            "slice": {"pods": together, "level": "rack"}}]}}
        sets += [(f"{size}-{kind}-rack", count, every, runs, priority, cpu, more)
                 for count, (kind, more) in zip(counts, kinds.items())]
    nodes = {"topology": ["block", "rack"], "nodes": [
        {"name": f"r{rack}", "count": 64, "gpus": 0, "cpu_milli": 96000, "labels": {"block": "b", "rack": f"r{rack}"}}
        for rack in range(10)]}
    return kueue_figures(kueue_scenario(run, "kueue-tas", 5, 6, sets, nodes), "401.472", (
        ("small-required-rack", "246.755"), ("small-preferred-rack", "246.090"), ("small-balanced-rack", "237.846"),
        ("medium-required-rack", "107.071"), ("medium-preferred-rack", "106.324"), ("medium-balanced-rack", "106.303"),
        ("large-required-rack", "39.625"), ("large-preferred-rack", "39.573"), ("large-balanced-rack", "37.862")))


class Sampler:
    """The generator that gym seeds: numpy's RandomState, which is Python's Mersenne Twister seeded with the same words."""

    def __init__(self, seed):
        digest = hashlib.sha512(str(seed).encode()).digest()[:8]
        low, high = struct.unpack("<2I", digest)
        self.words = random.Random(low + (high << 32))

    def randint(self, low, high):
        mask = (1 << (high - 1 - low).bit_length()) - 1
        while True:
            value = self.words.getrandbits(32) & mask
            if value <= high - 1 - low:
                return low + value


def rlscheduler(run, file, published):
    """Mean bounded slowdown of ten sequences of 1,024 jobs, which its sampler draws with seed 1."""
    with open(run.trace(f"rlscheduler/{file}")) as lines:
        rows = [line.split() for line in lines if line.strip() and not line.startswith(";")]
    jobs = [(int(r[1]), int(r[3]), int(r[4])) for r in rows]
    sampler = Sampler(1)
    starts = [sampler.randint(1024, len(jobs) - 1024 - 1) for _ in range(10)]
    # Orders that do not change while a job waits are priorities. WFP3 and UNICEP as published are such orders: there
    # the start of a waiting job is -1.
    orders = {"FCFS": lambda submit, duration, n: submit, "SJF": lambda submit, duration, n: duration,
              "F1": lambda submit, duration, n: math.log10(duration) * n + 870 * math.log10(submit),
              "WFP3": lambda submit, duration, n: ((submit + 1) / duration) ** 3 * n,
              "UNICEP": lambda submit, duration, n: (n == 1, (submit + 1) / duration / (math.log2(n) or 1))}

    def slowdown(case):
        (order, head), start = case
        sequence = jobs[start:start + 1024]
        score = orders.get(order, orders["FCFS"])
        priority = {i: -rank for rank, i in enumerate(sorted(range(1024), key=lambda i: (score(*sequence[i]), i)))}
        name = f"{order}-{head}-{start}"
        trace = run.write(f"{name}.csv", "job_id,submit_s,duration_s,gpus,tenant,priority,estimate_s\n" + "".join(
            f"{i},{s - sequence[0][0]},{d},{n},all,{priority[i]},{d}\n" for i, (s, d, n) in enumerate(sequence)))
        if (order, head) == ("FCFS", "strict"):
            return run.replay(name, "--nodes", "256x1", "--trace", trace, "--policy", "fifo")["slowdown"]["mean"]
        scenario = run.write(f"{name}.json", json.dumps({
            "format": "allot-scenario/1", "policy": "committed" if order in orders else order,
            "quotas": [{"name": "all", "nominal": {"gpu": 256}, "head": head}]}))
        return run.replay(name, scenario, "--trace", trace)["slowdown"]["mean"]

    cases = [(case, start) for case in published for start in starts]
    ours = dict(zip(cases, each(slowdown, cases)))
    return [Figure(f"{order}, {'no backfill' if head == 'strict' else 'EASY'}", figure,
                   mean(ours[(order, head), start] for start in starts)) for (order, head), figure in published.items()]


def rlscheduler_fcfs(run):
    return rlscheduler(run, "lublin_256.swf", {("FCFS", "strict"): "7273.77"})


def rlscheduler_orders(run):
    return rlscheduler(run, "lublin_256.swf", {
        ("WFP3", "strict"): "19753.53", ("UNICEP", "strict"): "22274.74", ("SJF", "strict"): "277.35",
        ("F1", "strict"): "258.37", ("FCFS", "best_effort"): "235.82", ("WFP3", "best_effort"): "133.87",
        ("UNICEP", "best_effort"): "307.23", ("SJF", "best_effort"): "73.31", ("F1", "best_effort"): "75.07"})


def rlscheduler_waits(run):
    return rlscheduler(run, "lublin_256.swf", {("wfp3", "strict"): "19753.53", ("unicep", "strict"): "22274.74",
                                               ("wfp3", "best_effort"): "133.87", ("unicep", "best_effort"): "307.23"})


def rlscheduler_2(run):
    return rlscheduler(run, "lublin_256_new2", {
        ("FCFS", "strict"): "7842.47", ("WFP3", "strict"): "9523.18", ("UNICEP", "strict"): "11265.31",
        ("SJF", "strict"): "787.89", ("F1", "strict"): "698.34", ("FCFS", "best_effort"): "247.61",
        ("WFP3", "best_effort"): "318.35", ("UNICEP", "best_effort"): "379.59", ("SJF", "best_effort"): "91.99",
        ("F1", "best_effort"): "148.25"})


Result = collections.namedtuple("Result", "name paper what run")
results = [
    Result("fgd", "FGD, ATC '23", "GPUs that six placements allocate, %, means over ten seeds", fgd),
    Result("easy", "EASY on KTH", "starts of 10,000 jobs", easy),
    Result("helios", "Helios, SC '21, on philly128", "completion and queueing of FIFO and SJF", helios),
    Result("helios-srtf", "Helios, SC '21, on philly128",
           "SRTF with restarts; theirs evicts for any shorter job, even one that then does not fit on the nodes",
           helios_srtf),
    Result("helios-qssf", "Helios, SC '21", "queueing by virtual cluster", "its list of Philly's jobs by virtual cluster was not at hand"),
    Result("kai", "KAI Scheduler", "division of the surplus by weight", kai_division),
    Result("kai-time", "KAI Scheduler", "shares by past use, two queues", kai_time),
    Result("runai", "Run:ai", "over-quota demonstration", runai),
    Result("gavel-levels", "Gavel, OSDI '20, figure 11", "multi-level fairness", gavel_levels),
    Result("gavel", "Gavel, OSDI '20, figures 8 to 10", "LAS and makespan on three GPU models",
           "its table of throughputs was not at hand; `gavel_las_models` and `gavel_makespan_models` of the gallery are its policies"),
    Result("kueue", "Kueue, baseline", "15,000 workloads; theirs are bound by the API server", kueue),
    Result("kueue-large", "Kueue, large-scale", "50,000 workloads in 1,000 queues", kueue_large),
    Result("kueue-tas", "Kueue, topology-aware", "15,000 workloads on 640 nodes, by how they share racks", kueue_tas),
    Result("rlscheduler", "RLScheduler, SC '20, Lublin-1", "bounded slowdown of ten sequences of 1,024 jobs, FCFS",
           rlscheduler_fcfs),
    Result("rlscheduler-orders", "RLScheduler, SC '20, Lublin-1", "the same, other orders", rlscheduler_orders),
    Result("rlscheduler-wfp", "RLScheduler, SC '20, Lublin-1", "WFP3 and UNICEP by the time that jobs have waited, which theirs does not count",
           rlscheduler_waits),
    Result("rlscheduler-2", "RLScheduler, SC '20, Lublin-2", "all orders", rlscheduler_2),
    Result("rlscheduler-rl", "RLScheduler, SC '20", "the policy that it learns", "needs a trained model"),
    Result("tiresias", "Tiresias, NSDI '19", "two-dimensional LAS, Gittins",
           "its 480 jobs were not at hand; `tiresias` and `gittins` of the gallery are its policies"),
    Result("muri", "Muri, SIGCOMM '22", "SRTF, SRSF, Tiresias, Themis; interleaving",
           "its list of jobs was not at hand; all but interleaving is in the gallery"),
    Result("shockwave", "Shockwave, NSDI '23", "makespan and finish-time fairness",
           "needs speeds that change with the work that is done: batch sizes"),
    Result("hived", "HiveD, OSDI '20", "34 cases of virtual clusters", "its jobs by virtual cluster were not at hand; `preferred_node_pools` is what allot has in place of cells"),
    Result("pollux", "Pollux, OSDI '21; Sia, SOSP '23", "elastic jobs",
           "its model of speeds was not at hand: by GPUs and batch size"),
    Result("pai", "PAI simulator", "20,000 jobs on 6,500 GPUs", "its list of jobs was not at hand"),
]


# --- How they compare


def decimals(text):
    return len(text.partition(".")[2])


def is_equal(figure):
    return f"{figure.ours:.{decimals(figure.published)}f}" == f"{float(figure.published):.{decimals(figure.published)}f}"


def difference(figure):
    published = float(figure.published)
    return (figure.ours - published) / published if published else math.inf * (figure.ours != 0)


def verdict(figures):
    if all(map(is_equal, figures)):
        return "equal"
    most = max(abs(difference(f)) for f in figures)
    if most <= 0.1:
        return f"within {math.ceil(most * 1000) / 10:g} %"
    order = sorted(range(len(figures)), key=lambda i: float(figures[i].published))
    ours = [figures[i].ours for i in order]
    return "shape" if len(figures) > 2 and all(a <= b for a, b in zip(ours, ours[1:])) else "other"


def shown(value):
    return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"


def table(figures):
    rows = [("", "published", "here", "")] + [
        (f.label, f.published, shown(f.ours), "equal" if is_equal(f) else f"{difference(f):+.1%}") for f in figures]
    width = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(f"  {row[0]:<{width[0]}}  {row[1]:>{width[1]}}  {row[2]:>{width[2]}}  {row[3]:>{width[3]}}" for row in rows)


def chart(title, figures):
    """Pairs of bars, each pair on a scale of its own: the figures of one result are in several units."""
    left, width, line = 230, 420, 34
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 110}" height="{line * len(figures) + 60}" '
             f'font-family="sans-serif" font-size="12"><text x="8" y="20" font-size="14">{html.escape(title)}</text>'
             '<rect x="8" y="30" width="10" height="10" fill="#0072B2"/><text x="22" y="39">published</text>'
             '<rect x="98" y="30" width="10" height="10" fill="#E69F00"/><text x="112" y="39">here</text>']
    for i, figure in enumerate(figures):
        top = 52 + i * line
        most = max(float(figure.published), figure.ours, 1e-9)
        parts.append(f'<text x="{left - 6}" y="{top + 17}" text-anchor="end">{html.escape(figure.label)}</text>')
        for at, value, colour in ((0, float(figure.published), "#0072B2"), (13, figure.ours, "#E69F00")):
            long = max(0.0, value) / most * width
            parts.append(f'<rect x="{left}" y="{top + at}" width="{long:.1f}" height="11" fill="{colour}"/>'
                         f'<text x="{left + long + 4:.1f}" y="{top + at + 10}" font-size="10">{shown(value)}</text>')
    return "\n".join(parts) + "</svg>\n"


def write_readme(rows):
    path = root / "bench/lab/README.md"
    text = path.read_text()
    start, end = "<!-- published -->\n", "<!-- end published -->"
    if text.count(start) != 1 or text.count(end) != 1:
        sys.exit(f"{path}: expected one pair of {start.strip()} and {end.strip()}")
    lines = ["| name | published | what | here |", "|---|---|---|---|"] + ["| " + " | ".join(row) + " |" for row in rows]
    before, rest = text.split(start)
    path.write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def main():
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(r.name for r in results))
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_intermixed_args()
    known = [r.name for r in results]
    if unknown := [name for name in given.names if name not in known]:
        sys.exit(f"there is no result {', '.join(unknown)} (expected {', '.join(known)})")
    if given.write and given.names:
        sys.exit("--write writes the whole table: it takes no NAME")
    program = pathlib.Path(given.program).resolve()
    rows, left_out = [], False
    for result in results:
        if given.names and result.name not in given.names:
            continue
        print(f"\n{result.name}: {result.paper}, {result.what}")
        out = given.out / result.name
        try:
            if isinstance(result.run, str):
                raise Missing(result.run)
            figures = result.run(Run(program, out, given.traces))
        except Missing as why:
            print(f"  not run: {why}")
            left_out = True
            rows.append((f"`{result.name}`", result.paper, result.what, f"not run: {why}"))
            continue
        out.mkdir(parents=True, exist_ok=True)
        compared = verdict(figures)
        print(f"{table(figures)}\n  {compared}")
        with open(out / "figures.csv", "w", newline="") as file:
            csv.writer(file).writerows([("figure", "published", "here"), *((f.label, f.published, f"{f.ours:.6g}") for f in figures)])
        (out / "chart.svg").write_text(chart(f"{result.paper}: {result.what}", figures))
        if len(figures) <= 6:
            told = "; ".join(f"{f.label} {shown(f.ours)} ({f.published})" for f in figures)
        else:
            off = [abs(difference(f)) for f in figures]
            told = f"{len(figures)} figures, {sum(map(is_equal, figures))} equal, {mean(off):.2%} off on average"
        rows.append((f"`{result.name}`", result.paper, result.what, f"**{compared}**: {told}"))
    if given.write:
        write_readme(rows)
    return int(left_out and bool(given.names))


sys.exit(main())
