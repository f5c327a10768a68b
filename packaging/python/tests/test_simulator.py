# SPDX-License-Identifier: BSL-1.0
"""The simulator, stepped from outside."""

import collections
import math
import multiprocessing

import pytest

import allot


def by_id(jobs):
    return {j["job"]: j for j in jobs}


def first_fit(state):
    return [j["job"] for j in state["pending"]]


def test_observe_act_advance(teams):
    sim = allot.Simulator(teams)
    assert not sim.done and sim.time == 0
    state = sim.observe()
    assert state["time_s"] == 0 and state["free_gpus"] == 8 and state["running"] == []
    assert state["pending"] == [{
        "job": "train", "quota": "vision", "request": {"gpu": 6}, "pods": 2, "min_pods": 2, "priority": 0,
        "preemptible": True, "class": "", "submit_s": 0, "age_s": 0, "estimate_s": None, "fits_quota": True,
        "fits_nodes": True, "fits": True,
    }]
    assert state["quotas"]["vision"] == {
        "parent": "lab", "nominal": {"gpu": 4}, "used": {"gpu": 0}, "borrowed": {"gpu": 0}, "lent": {"gpu": 0},
        "headroom": {"gpu": 8},
    }
    assert sim.act([]) == [] and not sim.act("tune")[0]
    assert sim.act(["train"]) == [("start", "train", True, "", "", "")]
    state = sim.observe()
    assert state["pending"] == [] and state["free_gpus"] == 2
    assert state["running"][0]["nodes"] == ["node-0", "node-1"]
    assert [n["free_gpus"] for n in state["nodes"]] == [1, 1]
    assert state["quotas"]["vision"]["borrowed"] == {"gpu": 2}
    assert state["quotas"]["speech"]["lent"] == {"gpu": 2}
    assert state["quotas"]["lab"]["used"] == {"gpu": 6}

    assert sim.advance() and sim.time == 600
    (tune,) = sim.observe()["pending"]
    # Without what it has lent it can't have what is its own, and nothing is taken back that nobody asks for.
    assert not tune["fits"]
    (refused,) = sim.act(["tune"])
    assert not refused and refused.reason == "capacity" and refused.at == "lab" and "6 are in use" in refused.text
    assert sim.observe()["pending"] == [tune]

    # What is evicted has gone when the next job starts.
    assert all(sim.act([("evict", "train", "tune"), ("start", "tune")]))
    state = sim.observe()
    assert [j["job"] for j in state["running"]] == ["tune"]
    assert [j["job"] for j in state["pending"]] == ["train"]
    assert sim.advance() and sim.time == 900
    assert sim.start("test")
    assert sim.advance() and sim.time == 960  # test has ended
    assert not sim.start("train")
    assert sim.advance(1000) and sim.time == 1000 and not sim.start("train")  # nothing has happened
    assert sim.advance() and sim.time == 1800  # tune has ended
    assert sim.start("train")
    assert sim.advance() and not sim.advance() and sim.done

    run = sim.result()
    jobs = run.jobs().set_index("job_id")
    assert jobs.start_s["tune"] == 600 and jobs.end_s["test"] == 960
    assert jobs.end_s["train"] == 1800 + 3000 and jobs.preemptions["train"] == 1 and jobs.lost_s["train"] == 0
    assert run.summary["policy"] == "outside" and run.summary["preemptions_by"]["reclaim"] == 1
    evicted = run.events().set_index("event").loc["evicted"]
    assert evicted.job_id == "train" and evicted["for"] == "tune"


def test_what_is_not_allowed_is_refused(teams):
    teams["quotas"][2]["min_runtime_s"] = {"preempt": 60, "reclaim": 60}
    teams["jobs"] = [
        {"id": "big", "quota": "speech", "request": {"gpu": 2}, "pods": 3, "duration_s": 60},
        {"id": "wide", "quota": "speech", "request": {"gpu": 5}, "total": True, "duration_s": 60},
        {"id": "fixed", "quota": "vision", "request": {"gpu": 2}, "preemptible": False, "duration_s": 600},
        {"id": "own", "quota": "vision", "request": {"gpu": 3}, "preemptible": False, "duration_s": 600},
        {"id": "four", "quota": "vision", "request": {"gpu": 4}, "duration_s": 600},
        {"id": "large", "quota": "speech", "request": {"gpu": 2}, "pods": 4, "duration_s": 60},
        {"id": "later", "quota": "speech", "request": {"gpu": 1}, "submit_s": 30, "duration_s": 60},
    ]
    sim = allot.Simulator(teams)
    one = lambda *action: sim.act([action])[0]
    assert [a.reason for a in sim.act(["later", "nobody", ("stop", "big"), ("evict", "big"), ("grow", "big")])] == [
        "not_pending", "unknown", "unknown", "not_running", "not_running"]
    assert one("start", "large").reason == "borrow_limit"
    assert one("start", "fixed")
    assert one("start", "fixed").reason == "not_pending"
    # What may not be preempted does not borrow.
    assert one("start", "own").reason == "guarantee"
    assert one("evict", "fixed").reason == "not_preemptible"
    assert one("start", "big")
    assert one("start", "four").reason in ("capacity", "full")
    assert one("evict", "big").reason == "min_runtime"
    assert one("evict", "big", "four").reason == "min_runtime"
    assert one("evict", "big", "later").reason == "not_pending"
    assert one("shrink", "big").reason == "fewest_pods"
    assert one("grow", "big").reason == "has_all_pods"
    state = sim.observe()
    assert {j["job"] for j in state["running"]} == {"fixed", "big"}
    sim.advance(30)
    assert sim.time == 30 and not sim.observe()["quotas"]["speech"]["headroom"]["gpu"]
    run = sim.result()
    assert run.summary["stopped"] == {"reason": "until", "at_s": 30}
    assert sim.done and not sim.act(["wide"])[0] and sim.observe()["pending"] == []
    assert sim.result() is run


def test_a_place_that_is_full(teams):
    teams["quotas"][0]["nominal"] = {"gpu": 8}
    teams["quotas"][1]["borrow"] = "all"
    teams["jobs"] = [{"id": f"j{i}", "quota": "vision", "request": {"gpu": 3}, "duration_s": 10} for i in range(3)]
    sim = allot.Simulator(teams)
    answers = sim.act(["j0", "j1", "j2"])
    assert [a.done for a in answers] == [True, True, False]
    assert (answers[2].reason, answers[2].at) == ("full", "cluster") and "2 are free" in answers[2].text
    (left,) = sim.observe()["pending"]
    assert left["fits_quota"] and not left["fits_nodes"] and not left["fits"]


def test_elastic_jobs(scenarios, teams):
    teams["jobs"] = [
        {"id": "e", "quota": "vision", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "duration_s": 100}]
    sim = allot.Simulator(teams)
    (job,) = sim.observe()["pending"]
    assert (job["pods"], job["min_pods"], job["request"]) == (4, 2, {"gpu": 2})
    assert sim.start("e")
    (job,) = sim.observe()["running"]
    assert (job["pods"], job["max_pods"], job["may_grow"]) == (2, 4, True)
    assert [a.done for a in sim.act([("grow", "e"), ("grow", "e"), ("grow", "e")])] == [True, True, False]
    (job,) = sim.observe()["running"]
    assert (job["pods"], job["may_grow"], job["request"]) == (4, False, {"gpu": 4})
    assert sim.act([("shrink", "e")])[0]
    assert sim.observe()["running"][0]["pods"] == 3
    assert sim.act([("shrink", "e"), ("shrink", "e")])[1].reason == "fewest_pods"
    assert sim.advance() and sim.time == 200  # half of its pods, twice the time
    assert not sim.advance() and sim.done

    sim = allot.Simulator(scenarios / "flavors_and_elastic.json")
    run = sim.run(lambda s: first_fit(s) + [("grow", j["job"]) for j in s["running"] if j["may_grow"]])
    assert run.summary["jobs"]["completed"] == run.summary["jobs"]["total"] - run.summary["jobs"]["refused"]


def test_what_runs_at_the_beginning(scenarios):
    sim = allot.Simulator(scenarios / "three_teams.json")
    running = by_id(sim.observe()["running"])
    assert set(running) == {f"train-{t}{i}" for t in "bc" for i in (1, 2, 3)}
    assert running["train-b1"]["start_s"] == 0 and running["train-b1"]["ran_s"] == sim.time
    assert sim.evict("train-b3")
    assert "train-b3" in by_id(sim.observe()["pending"])
    run = sim.run(first_fit)
    assert run.summary["jobs"]["completed"] == 9 and run.summary["jobs"]["refused"] == 1
    assert "stray" in run.warnings


def test_a_policy_of_ones_own_against_others(trace):
    sim = allot.Simulator(trace=trace, nodes="4x8", report=False)
    run = sim.run(first_fit)
    assert run.summary["jobs"]["completed"] == run.summary["jobs"]["total"]
    assert run.summary["preemptions"] == 0
    again = allot.Simulator(trace=trace, nodes="4x8", report=False)
    again.start(again.observe()["pending"][0]["job"])
    again.reset()
    assert again.run(first_fit).decision_hash == run.decision_hash
    other = sim.run_policy("standard")
    assert other.decision_hash == allot.replay(trace=trace, nodes="4x8", policy="standard").decision_hash
    assert other.summary["input_hash"] == run.summary["input_hash"]
    assert sim.run_policy("fifo").summary["jobs"]["completed"] == run.summary["jobs"]["total"]
    spread = allot.Simulator(trace=trace, nodes="4x8", placement="worst_fit", report=False).run(first_fit)
    assert spread.summary["policy_set"] == {"placement": "worst_fit"} and spread.decision_hash


def test_rounds(teams):
    sim = allot.Simulator(teams, report=False)
    times = []
    while not sim.done:
        if sim.time % 360 == 0:
            times.append(sim.time)
            sim.act(first_fit(sim.observe()))
        sim.advance(sim.time // 360 * 360 + 360)
    # Also while all that is to come is a job, and while those that are pending would start if they were told to.
    # When nothing is left that could happen, it is over, at the last end.
    assert times == [360 * i for i in range(len(times))]
    assert sim.result().summary["jobs"]["completed"] == 3
    jobs = sim.result().jobs().set_index("job_id")
    assert list(jobs.start_s) == [0, 3600, 1080]
    assert sim.time == max(jobs.end_s) == 4800 == sim.result().summary["window"]["to_s"]

    sim.reset()
    assert sim.advance(60) and sim.time == 60 and sim.advance(100_000) and sim.time == 100_000
    assert sim.start("train") and sim.advance(100_001) and sim.time == 100_001


def test_nothing_is_decided_that_is_not_asked_for(teams):
    teams["quotas"][1]["time_limit_s"] = {"short": 100}
    teams["jobs"][2]["class"] = "short"
    teams["jobs"][2]["duration_s"] = 1000
    sim = allot.Simulator(teams)
    while not sim.done:
        assert sim.observe()["running"] == []
        sim.advance()
    assert sim.result().summary["jobs"]["waiting"] == 3
    sim.reset()
    sim.advance(900)
    assert sim.start("test")
    # But for those at their time limit.
    sim.advance()
    assert sim.time == 1000 and sim.observe()["running"] == []
    assert sim.result().jobs().set_index("job_id").state["test"] == "time_limit"


def test_a_job_that_is_evicted_again_and_again(teams):
    sim = allot.Simulator(teams)
    answers = sim.act([("start", "train"), ("evict", "train")] * 100)
    assert answers[-1].reason == "too_late"
    assert sim.time == 600 and len(sim.observe()["pending"]) == 2
    sim.run(first_fit)
    assert sim.result().summary["livelocks"] == 1


def test_events_of_the_scenario(teams):
    teams["events"] = [
        {"at_s": 60, "resize": {"quota": "vision", "nominal": {"gpu": 2}}},
        {"at_s": 90, "node_down": {"node": "node-1"}},
        {"at_s": 120, "node_up": {"node": "node-1"}},
        {"at_s": 150, "add_quota": {"name": "new", "parent": "lab", "nominal": {"gpu": 1}}},
        {"at_s": 180, "cancel": {"job": "train"}},
    ]
    sim = allot.Simulator(teams)
    sim.start("train")
    sim.advance()
    assert sim.observe()["quotas"]["vision"]["nominal"] == {"gpu": 2}
    assert [j["job"] for j in sim.observe()["running"]] == ["train"]
    sim.advance()
    state = sim.observe()
    assert [j["job"] for j in state["pending"]] == ["train"] and state["free_gpus"] == 4
    assert [n["closed"] for n in state["nodes"]] == [False, True]
    sim.advance(150)
    assert "new" in sim.observe()["quotas"]
    sim.advance()
    assert sim.observe()["pending"] == []


def test_most_pending(trace):
    sim = allot.Simulator(trace=trace, nodes="4x8")
    sim.advance(80000)
    everyone = sim.observe()["pending"]
    assert sim.observe(most_pending=5)["pending"] == everyone[:5] and len(everyone) > 5
    assert [j["submit_s"] for j in everyone] == sorted(j["submit_s"] for j in everyone)


def test_many_at_once(teams):
    sims = [allot.Simulator(teams, report=False) for _ in range(50)]
    while not all(s.done for s in sims):
        for i, s in enumerate(sims):
            if i % 2 == 0:
                s.act(first_fit(s.observe()))
            s.advance()
    assert {s.result().summary["jobs"]["completed"] for s in sims[::2]} == {3}
    del sims[1::2]  # abandoned


def episode(teams):
    return allot.Simulator(teams, report=False).run(first_fit).decision_hash


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_in_forked_processes(teams):
    sim = allot.Simulator(teams)
    sim.start("train")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        hashes = pool.map(episode, [teams] * 4)
    assert set(hashes) == {episode(teams)}
    assert sim.run(first_fit).decision_hash


def test_contradictions_of_the_quotas_are_input_errors(teams):
    teams["events"] = [{"at_s": 700, "remove_quota": {"quota": "speech"}},
                       {"at_s": 700, "resize": {"quota": "lab", "nominal": {"gpu": 1}}}]
    teams["jobs"].append({"id": "x", "quota": "vision", "request": {"gpu": 1}, "state": "running", "start_s": 0,
                          "duration_s": 10, "nodes": ["nowhere"]})
    with pytest.raises(allot.InputError, match="nowhere"):
        allot.Simulator(teams)


def test_pod_sets(service):
    sim = allot.Simulator(service, report=False)
    (waits,) = sim.observe()["pending"]
    assert waits["pod_sets"] == [
        {"name": "router", "request": {"gpu": 0}, "pods": 1, "min_pods": 1},
        {"name": "workers", "request": {"gpu": 2}, "pods": 3, "min_pods": 1},
    ]
    assert sim.start("chat") and sim.act([("grow", "chat")])[0]
    (runs,) = sim.observe()["running"]
    assert [(s["name"], s["pods"], s["max_pods"]) for s in runs["pod_sets"]] == [("router", 1, 1), ("workers", 2, 3)]
    service["quotas"][1]["borrow"] = {"gpu": 1}
    service["jobs"][0]["pod_sets"][1]["min_pods"] = 3
    answer = allot.Simulator(service, report=False).start("chat")
    assert not answer and answer.text.startswith("pod set workers: ")


def test_arrays_are_what_observations_are(scenarios, trace):
    for sim in (allot.Simulator(trace=trace, nodes="4x8", report=False),
                allot.Simulator(scenarios / "flavors_and_elastic.json", report=False)):
        now = sim.arrays(most_pending=5, most_running=100)
        ids = sim.workload()["job"]
        starts = collections.Counter()
        waiting = set()
        running = {job["job"] for job in sim.observe()["running"]}
        starts.update(running)
        for step in range(300):
            if sim.done:
                break
            state = sim.observe()
            now.update()
            assert now.time_s == state["time_s"]
            assert (now.waiting, now.running_in_all) == (len(state["pending"]), len(state["running"]))
            assert (now.pending_shown, now.running_shown) == (min(5, now.waiting), now.running_in_all)
            for shown, jobs, seen in ((now.pending_shown, now.pending, state["pending"]),
                                      (now.running_shown, now.running, state["running"])):
                for i, job in enumerate(seen[:shown]):
                    assert ids[jobs["job"][i]] == job["job"]
                    assert now.quota_names[jobs["quota"][i]] == job["quota"]
                    assert jobs["age_s"][i] == pytest.approx(job["age_s"])
                    assert jobs["priority"][i] == job["priority"] and jobs["preemptible"][i] == job["preemptible"]
                    assert jobs["estimate_s"][i] == job["estimate_s"] or (
                        math.isnan(jobs["estimate_s"][i]) and job["estimate_s"] is None)
                    assert jobs["starts"][i] == starts[job["job"]]
            for i, job in enumerate(state["pending"][:5]):
                assert list(now.pending["request"][i]) == list(job["request"].values())
                assert (now.pending["fits_quota"][i], now.pending["fits_nodes"][i]) == (job["fits_quota"], job["fits_nodes"])
            for i, job in enumerate(state["running"]):
                assert now.running["ran_s"][i] == pytest.approx(job["ran_s"])
                assert now.running["served_s"][i] >= now.running["ran_s"][i]
            for name, quota in state["quotas"].items():
                at = now.quota_names.index(name)
                for what in ("nominal", "used", "borrowed", "lent", "headroom"):
                    assert [math.inf if q is None else q for q in quota[what].values()] == list(now.quotas[what][at])
            assert list(now.free_gpus) == [0 if n["closed"] else n["free"] for n in state["nodes"]]
            happened = sim.happened()
            waiting |= {ids[j] for j in happened.submitted}
            assert {ids[j] for j in happened.evicted} <= running and {ids[j] for j in happened.ended} <= running | waiting
            waiting |= {ids[j] for j in happened.evicted}
            running -= {ids[j] for j in [*happened.evicted, *happened.ended]}
            assert {job["job"] for job in state["pending"]} <= waiting
            assert {job["job"] for job in state["running"]} == running
            if step % 5 == 4 and state["running"] and sim.evict(state["running"][0]["job"]):
                sim.advance()
                continue
            numbers = [int(j) for j in now.pending["job"][:now.pending_shown]]
            started = sim.start_numbers(numbers)
            running |= {ids[j] for j in numbers[:started]}
            starts.update(ids[j] for j in numbers[:started])
            sim.advance()


def test_jobs_are_started_up_to_the_first_that_is_refused(teams):
    teams["jobs"].append({"id": "small", "quota": "vision", "request": {"gpu": 1}, "duration_s": 60})
    sim = allot.Simulator(teams, report=False)
    ids = sim.workload()["job"]
    assert sim.workload()["quota"][ids.index("tune")] == "speech"
    number = {name: i for i, name in enumerate(ids)}
    assert sim.start_numbers([number["train"], number["tune"], number["small"]]) == 1
    assert [j["job"] for j in sim.observe()["running"]] == ["train"]
    with pytest.raises(IndexError):
        sim.start_numbers([99])
    now = sim.arrays()
    del sim
    now.update()
    assert now.pending_shown == 1 and now.free_gpus.sum() == 2


def test_tags_of_a_trace(tmp_path):
    (tmp_path / "jobs.csv").write_text("job_id,submit_s,duration_s,gpus,model\na,0,60,1,resnet\nb,0,60,1,\n")
    sim = allot.Simulator(trace=tmp_path / "jobs.csv", nodes="1x8", report=False)
    assert sim.workload()["tags"]["model"] == ["resnet", ""]


def test_an_environment(trace):
    import gymnasium.utils.env_checker

    from allot.gym import Scheduling

    env = Scheduling(trace=trace, nodes="4x8", most_pending=8)
    gymnasium.utils.env_checker.check_env(env, skip_render_check=True)
    env.reset()
    total = 0.0
    done = False
    while not done:
        _, reward, done, _, info = env.step(0 if env.arrays.pending_shown else 8)
        total += reward
    run = env.simulator.result()
    assert run.summary["jobs"]["completed"] == run.summary["jobs"]["total"]
    assert -3600 * total == pytest.approx(run.jobs().wait_s.sum(), rel=1e-6)
    assert run.decision_hash == allot.replay(trace=trace, nodes="4x8", policy="fifo", report=False).decision_hash
    # Who never starts anything pays for it.
    env.reset()
    total = 0.0
    done = False
    while not done:
        _, reward, done, _, _ = env.step(8)
        total += reward
    left = env.simulator.result().summary["jobs"]["waiting"]
    assert left > 0 and total <= -1000 * left


def test_rounds_in_which_nothing_starts_end(teams):
    sim = allot.Simulator(teams, report=False)
    rounds = 0
    while sim.advance(sim.time + 360):
        rounds += 1
    assert 1000 <= rounds <= 1010
    assert sim.result().summary["jobs"]["waiting"] == len(teams["jobs"])
