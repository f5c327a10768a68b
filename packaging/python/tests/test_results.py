# SPDX-License-Identifier: BSL-1.0
"""Replays, sweeps and decisions: the same as those of the program, as data."""

import ast
import concurrent.futures
import json
import multiprocessing
import pathlib
import signal
import subprocess
import sys
import threading

import pandas as pd
import pytest

import allot
from allot import _allot


def test_type_checkers_understand_it(tmp_path):
    (tmp_path / "own.py").write_text("""
import allot
sim = allot.Simulator("teams.json", seed=1, window=("1h", None))
answer: allot.Answer = sim.start("a")
table = sim.result().jobs()
""")
    said = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(tmp_path / "own.py")], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    stub = ast.parse((pathlib.Path(allot.__file__).parent / "_allot.pyi").read_text())

    def names(of):
        return {d.name for d in of.body if isinstance(d, (ast.FunctionDef, ast.ClassDef)) and d.name[0] != "_"}

    def public(of):
        return {name for name in vars(of) if name[0] != "_"}

    assert names(stub) == public(_allot)
    for one in stub.body:
        if isinstance(one, ast.ClassDef):
            assert names(one) == public(getattr(_allot, one.name))


def test_version_and_policies():
    assert allot.program("--version").split()[-1] == allot.version
    names = [p.name for p in allot.policies()]
    assert "standard" in names and "kueue_fair" in names
    assert all(p.summary for p in allot.policies())
    allot.decide({"resources": ["gpu"], "quotas": [{"name": "q", "nominal": {"gpu": 1}}]})
    assert "outside" not in [p.name for p in allot.policies()]
    assert "outside" not in allot.program("policies")


def test_a_replay_is_that_of_the_program(scenarios, tmp_path):
    scenario = scenarios / "flavors_and_elastic.json"
    run = allot.replay(scenario)
    allot.program("replay", scenario, "--out", tmp_path / "run", "--events")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {**run.summary, "wall_s": 0} == {**summary, "wall_s": 0}
    assert run.decision_hash == summary["decision_hash"]
    for name in ("jobs", "tenants", "events"):
        table = getattr(run, name)()
        pd.testing.assert_frame_equal(table, allot.read_csv(str(tmp_path / "run" / f"{name}.csv")))
        assert len(table) > 0
    run.save(tmp_path / "again")
    for name in ("jobs.csv", "tenants.csv", "events.csv", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    with open(run.report, encoding="utf-8") as page:
        assert "<html" in page.read(1000)


def test_tables(teams):
    teams["jobs"][0]["id"] = "NA"
    run = allot.replay(teams, report=False)
    assert run.report is None
    jobs = run.jobs()
    assert list(jobs.job_id) == ["NA", "tune", "test"]
    assert jobs.jct_s.mean() == pytest.approx(run.summary["jct_s"]["mean"])
    assert set(run.tenants().quota) == {"vision", "speech"}
    events = run.events()
    assert list(events.event)[:2] == ["submitted", "started"]
    assert "evicted" in set(events.event)
    assert repr(run) == "<allot.Run standard: 3 of 3 jobs completed>"
    assert "vision" in run.headline


def test_a_trace_is_a_file_or_a_data_frame(trace):
    run = allot.replay(trace=trace, nodes="4x8", policy="fifo", report=False)
    same = allot.replay(trace=pd.read_csv(trace), nodes="4x8", policy="fifo", report=False)
    assert run.decision_hash == same.decision_hash
    assert run.summary["jobs"]["total"] > 50
    early = allot.replay(trace=trace, nodes="4x8", until="6h", report=False)
    assert early.summary["stopped"] == {"reason": "until", "at_s": 21600}
    assert allot.replay(trace=trace, nodes="4x8", until=21600, report=False).decision_hash == early.decision_hash


def test_computed_times_are_rounded(trace, tmp_path):
    frame = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0.1 + 0.2, 10.123456], "duration_s": [1 / 3, 60.0], "gpus": [0.1 + 0.2, 1.0]})
    jobs = allot.replay(trace=frame, nodes="1x8", report=False).jobs()
    assert list(jobs.submit_s) == [0.3, 10.123]
    assert list(jobs.gpus) == [0.3, 1]
    assert list(frame.submit_s) == [0.1 + 0.2, 10.123456]
    with pytest.raises(allot.InputError, match="duration_s") as e:
        allot.replay(trace=frame.assign(duration_s=[-1, 1]), nodes="1x8")
    assert e.value.problems[0].file == "trace"


def test_a_run_outlives_the_process_that_made_it(teams):
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        run = pool.submit(allot.replay, teams).result()
    here = allot.replay(teams)
    pd.testing.assert_frame_equal(run.jobs(), here.jobs())
    pd.testing.assert_frame_equal(run.events(), here.events())
    assert run.decision_hash == here.decision_hash
    with open(run.report, encoding="utf-8") as page:
        assert "<html" in page.read(1000)


def test_a_table_is_its_caller_s(teams):
    run = allot.replay(teams, report=False)
    mine = run.jobs()
    mine["job_id"] = "none"
    assert list(run.jobs().job_id) == ["train", "tune", "test"]


def test_jobs_whose_pods_differ(service):
    made = allot.decide(service)
    sets = [(s["name"], s["pods"], len(s["nodes"])) for row in made["admit"] for s in row["pod_sets"]]
    assert sets == [("router", 1, 1), ("workers", 3, 3)]
    frame = pd.DataFrame([
        {"job_id": "chat", "submit_s": 0, "duration_s": 600, "gpus": 0, "pod_set": "router", "pods": 1, "min_pods": 1},
        {"job_id": "chat", "submit_s": 0, "duration_s": 600, "gpus": 6, "pod_set": "workers", "pods": 3, "min_pods": 1},
    ])
    run = allot.replay(trace=frame, nodes="2x4", policy="fifo", report=False)
    assert list(run.jobs().job_id) == ["chat"]
    assert list(run.jobs().gpus) == [6]
    with pytest.raises(allot.InputError, match="the same in all rows of the job"):
        allot.replay(trace=frame.assign(duration_s=[600, 601]), nodes="2x4", report=False)


def test_a_policy_is_a_name_or_a_dict(teams):
    run = allot.replay(teams, policy={"preset": "standard", "set": {"guard": "final_share"}}, seed=3)
    assert run.summary["policy_set"] == {"guard": "final_share"}
    assert run.summary["seed"] == 3
    assert allot.replay(teams, policy="static_quotas").summary["jobs"]["completed"] == 2


def test_everything_that_is_wrong_is_said(teams, tmp_path):
    teams["quotas"][1]["borow"] = 3
    teams["jobs"][0]["quota"] = "visoin"
    with pytest.raises(allot.InputError) as e:
        allot.replay(teams)
    assert [p.place for p in e.value.problems] == ["/quotas/1/borow", "/jobs/0/quota"]
    assert "did you mean" in str(e.value)
    for call in (allot.decide, allot.Simulator):
        with pytest.raises(allot.InputError):
            call(teams)
    with pytest.raises(allot.InputError, match="No such file"):
        allot.replay(tmp_path / "nowhere.json")
    with pytest.raises(allot.InputError, match="a trace and nodes"):
        allot.replay()
    with pytest.raises(allot.InputError, match="until"):
        allot.replay({"resources": ["gpu"]}, until="soon")
    with pytest.raises(allot.InputError, match="policy of a Simulator"):
        allot.replay(scenario={"resources": ["gpu"], "quotas": [{"name": "q", "nominal": {"gpu": 1}}], "jobs": [
            {"id": "a", "quota": "q", "request": {"gpu": 1}, "duration_s": 1}]}, policy="outside")
    with pytest.raises(allot.InputError, match="expected"):
        allot.program("decide", tmp_path / "nowhere.json", "--rounds", "none")
    for seed in ("x", -1, True, 2**64):
        for call in (allot.replay, allot.Simulator):
            with pytest.raises(allot.InputError, match="seed: expected a whole number"):
                call({"resources": ["gpu"]}, seed=seed)
    with pytest.raises(TypeError, match="polcy"):
        allot.Simulator(teams, polcy="x")


def test_a_decision(teams):
    made = allot.decide(teams)
    assert [a["id"] for a in made["admit"]] == ["tune", "test"]
    assert made["quotas"]["vision"]["used"] == {"gpu": 1}
    assert [h["id"] for h in made["hold"]] == ["train"]
    first = {**teams, "jobs": [dict(teams["jobs"][0], state="running", start_s=0), *teams["jobs"][1:]]}
    made = allot.decide(first, rounds=2)
    assert [(e["id"], e["for"]) for e in made["evict"]] == [("train", "tune")]
    assert allot.decide(teams, policy="fifo", rounds=9)["rounds"] == 1


def test_a_change(teams):
    told = allot.explain_change(teams, "quota:vision:gpu+4")
    assert [j["id"] for j in told["started"]] == ["train"]
    assert [j["id"] for j in told["not_started"]] == ["tune"]
    both = ["job:train:gone", "node:node-0:gone"]
    told = allot.explain_change(teams, both, policy="fifo")
    assert told["if"] == both and told["at_rest"]
    with pytest.raises(allot.InputError, match="no quota"):
        allot.explain_change(teams, "quota:visoin:gpu+2")


def test_a_sweep(teams, tmp_path):
    (tmp_path / "teams.json").write_text(json.dumps({"format": "allot-scenario/1", **teams}))
    experiment = {"scenarios": [str(tmp_path / "teams.json")], "policies": ["fifo", "standard"]}
    table = allot.sweep(experiment, tmp_path / "sweep", jobs=1)
    assert list(table.policy) == ["fifo", "standard"]
    assert list(table.state) == ["done", "done"]
    assert (tmp_path / "sweep" / "table.csv").exists()
    of_standard = allot.replay(teams, policy="standard").summary["queue_s"]["mean"]
    assert table["queue_s/mean"][1] == pytest.approx(of_standard)
    with pytest.raises(allot.InputError, match="^experiment: /polices"):
        allot.sweep({"polices": [], **experiment})
    figures = [name for name in table.columns if name != "wall_s"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        parts = allot.sweep({**experiment, "seeds": [1, 2, 3]}, tmp_path / "parts", executor=pool, shards=3)
        with pytest.raises(ValueError, match="needs `out`"):
            allot.sweep(experiment, executor=pool)
    whole = allot.sweep({**experiment, "seeds": [1, 2, 3]})
    pd.testing.assert_frame_equal(parts[figures], whole[figures])


def test_replays_in_threads(trace):
    hashes = []
    threads = [
        threading.Thread(target=lambda: hashes.append(
            allot.replay(trace=trace, nodes="4x8", report=False).decision_hash)) for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(hashes) == 4 and len(set(hashes)) == 1


def test_an_interrupt_ends_a_replay_and_nothing_else(tmp_path):
    allot.program("generate", "--days", 200, "--gpus", 128, "--out", tmp_path / "jobs.csv")
    code = f"""
import allot, os, threading, time
ready = threading.Event()
def interrupt():
    ready.wait()
    for _ in range(2):
        time.sleep(1)
        os.kill(os.getpid(), {int(signal.SIGINT)})
threading.Thread(target=interrupt, daemon=True).start()
caught = 0
try:
    ready.set()
    while True:
        allot.replay(trace={str(tmp_path / 'jobs.csv')!r}, nodes="16x8", report=False)
except KeyboardInterrupt:
    caught += 1
try:
    time.sleep(5)
except KeyboardInterrupt:
    caught += 1
run = allot.replay(trace={str(tmp_path / 'jobs.csv')!r}, nodes="16x8", until="2d", report=False)
print(caught, run.summary["stopped"]["reason"])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert said.stdout.split() == ["2", "until"], said.stderr
