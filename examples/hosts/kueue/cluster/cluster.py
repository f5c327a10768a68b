#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A real Kubernetes control plane with the real Kueue on this machine's loopback address; kwok plays the kubelets.

    python3 cluster.py [--nodes 16] [--gpus 8] [--directory DIR] [--no-hold] -- COMMAND...
                                               runs COMMAND with KUBECONFIG set; without one, until Ctrl-C

Everything is in one directory, and nothing outside of it is touched. Several clusters can run at once. The programs are
those that `./dev kueue build` leaves in build/kueue, or in $ALLOT_KUEUE_PROGRAMS.

The daemons end with this process, whatever becomes of it: ../../governor/cluster/supervisor.py.
"""

import argparse
import base64
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.dirname(os.path.dirname(HERE))
TOP = os.path.dirname(os.path.dirname(HOSTS))
sys.path.insert(0, os.path.join(HOSTS, "governor/cluster"))

from supervisor import ClusterError, Interrupted, Supervisor, free_ports, interruptible, run_inside  # noqa: E402

GPU = "nvidia.com/gpu"
GROUP = "kueue.x-k8s.io/v1beta2"
# GPUs that each team owns, of a cohort's 128.
TEAMS = {"team-a": 32, "team-b": 48, "team-c": 48}
# Who they are for the API server: managedFields and the audit log name them. `allot` has no rights of its own.
USERS = ["admin", "manager", "scheduler", "kwok", "kueue", "allot"]
CONTROLLERS = ["cronjob", "daemonset", "deployment", "disruption", "garbage-collector", "job", "namespace", "node-lifecycle",
               "pod-garbage-collector", "replicaset", "root-ca-certificate-publisher", "serviceaccount", "statefulset",
               "taint-eviction", "ttl-after-finished"]
# What `./dev kueue build` makes.
PROGRAMS = ["control-plane", "kubectl", "kwok", "kueue", "crds.yaml", "webhooks.yaml"]
# The order in which they start.
PARTS = ["etcd", "apiserver", "manager", "scheduler", "kwok", "kueue"]


def programs():
    return os.path.abspath(os.environ.get("ALLOT_KUEUE_PROGRAMS") or os.path.join(TOP, "build/kueue"))


def missing():
    """What a cluster needs and this machine doesn't have: a line each."""
    found = [f"the command {name} is missing" for name in ("openssl", "unshare") if shutil.which(name) is None]
    absent = [name for name in PROGRAMS if not os.path.exists(os.path.join(programs(), name))]
    if absent:
        found.append(f"no {', '.join(absent)} in {programs()}: ./dev kueue build makes them")
    return found


# --- objects --------------------------------------------------------------------------------------------------------


def named(kind, name, api=GROUP, namespace=None, labels=None, annotations=None, **parts):
    metadata = {"name": name}
    for key, value in (("namespace", namespace), ("labels", labels), ("annotations", annotations)):
        if value:
            metadata[key] = value
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def place(api, kind, namespace=None):
    """The path of the objects of a kind."""
    plural = re.sub("s$", "se", re.sub("y$", "ie", kind.lower())) + "s"
    return f"/{'apis' if '/' in api else 'api'}/{api}/" + (f"namespaces/{namespace}/" if namespace else "") + plural


def node(name, gpus, labels=None):
    room = {"cpu": "128", "memory": "1Ti", "pods": "110", GPU: str(gpus)}
    return named("Node", name, "v1", labels={"kubernetes.io/hostname": name, **(labels or {})},
                 status={"capacity": room, "allocatable": room})


def flavor(name="default", labels=None, topology=None):
    spec = {"nodeLabels": labels} if labels else {}
    if topology:
        spec["topologyName"] = topology
    return named("ResourceFlavor", name, spec=spec)


def cluster_queue(name, gpus, cohort="all", hold=True, flavors=("default",), **spec):
    """`gpus` of each flavor."""
    quotas = [{"name": flavor, "resources": [{"name": GPU, "nominalQuota": gpus}]} for flavor in flavors]
    return named("ClusterQueue", name, spec={
        "cohortName": cohort, "namespaceSelector": {}, "resourceGroups": [{"coveredResources": [GPU], "flavors": quotas}],
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "stopPolicy": "Hold" if hold else "None", **spec})


def local_queue(name, queue=None, namespace="default"):
    return named("LocalQueue", name, namespace=namespace, spec={"clusterQueue": queue or name})


def priority_class(name, value):
    return named("WorkloadPriorityClass", name, value=value)


def pod_template(gpus=8, seconds=None, annotations=None, labels=None, **spec):
    """A pod that succeeds after so many seconds, or runs on. More annotations are in stages.yaml."""
    told = dict(annotations or {})
    if seconds is not None:
        told["allot/run-time"] = f"{seconds}s"
    amount = {GPU: str(gpus)}
    return {"metadata": {"annotations": told, "labels": labels or {}}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "main", "image": "none", "resources": {"requests": amount, "limits": amount}}], **spec}}


def job(name, queue, pods=1, gpus=8, seconds=60, priority=None, annotations=None, labels=None, template=None, namespace="default", **spec):
    """A batch/v1 Job of Kueue: so many pods at once, of so many GPUs each. `priority` is the name of a WorkloadPriorityClass."""
    labels = {"kueue.x-k8s.io/queue-name": queue, **(labels or {})}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    return named("Job", name, "batch/v1", namespace, labels, annotations, spec={
        "parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 6, "suspend": True,
        "template": template or pod_template(gpus, seconds), **spec})


def teams(of=None, hold=True):
    """A flavor, two priority classes, and a ClusterQueue with a LocalQueue for each team."""
    of = TEAMS if of is None else of
    return [flavor(), priority_class("high", 1000), priority_class("low", 10),
            *[cluster_queue(name, gpus, hold=hold) for name, gpus in of.items()], *[local_queue(name) for name in of]]


# --- the cluster ----------------------------------------------------------------------------------------------------


class Cluster:
    """with Cluster(nodes=16, gpus=8) as cluster: cluster.kubectl("get", "nodes")

    `objects` are created once all is up; without them, those of teams(). `labels` are those of the node of this index.
    `kueue` adds to Kueue's configuration. `options` are more command line options of a part: {"apiserver": ["--v=2"]}.
    The directory is removed at the end unless it was given.
    """

    def __init__(self, nodes=16, gpus=8, directory=None, objects=None, labels=None, kueue=None, options=None):
        problems = missing()
        if problems:
            raise ClusterError("; ".join(problems))
        self.nodes, self.gpus, self.options = nodes, gpus, options or {}
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        self.labels = labels or (lambda i: {"allot/rack": f"r{i // 4 + 1}"})
        self.objects, self.configuration = objects, kueue or {}
        self.own = directory is None
        self.directory = os.path.abspath(directory or tempfile.mkdtemp(prefix="allot-kueue-"))
        self.supervisor = self.lock = None
        os.makedirs(self.directory, exist_ok=True)
        self.kubeconfig = self.path("admin.kubeconfig")
        self.environment = dict(os.environ, KUBECONFIG=self.kubeconfig, PATH=f"{programs()}:{os.environ.get('PATH', '')}")
        self.tokens = {user: f"{user}-{os.urandom(8).hex()}" for user in USERS}

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    # Start and stop

    def start(self):
        try:
            return self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        self.port, self.lock = free_ports(6)
        self._write()
        self.supervisor = Supervisor(self.directory if self.own else None, self.environment)
        self.start_part("etcd")
        self.start_part("apiserver")
        for part in ("scheduler", "kwok"):
            self.start_part(part, wait=False)
        # Kueue reads the definitions when it starts, and its webhooks must be up before objects of these kinds are created.
        kinds = self._post(self.path("crds.yaml"))
        self._wait("Kueue's kinds", lambda: self._kinds() == kinds, 30)
        # The garbage collector looks for new kinds every half a minute only.
        self.start_part("manager", wait=False)
        self.start_part("kueue", wait=False)
        self.create(*[node(name, self.gpus, self.labels(i)) for i, name in enumerate(self.names)])
        self._wait("kueue", lambda: self.answers("kueue"), 180)
        self._post(self.path("webhooks.yaml"))
        self._wait("the account of pods", lambda: self.api("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200, 30)
        objects = teams() if self.objects is None else self.objects
        # The API server hears of webhooks a moment later, and of its own new kinds.
        self._wait("Kueue's objects", lambda: self.api("POST", f"/apis/{GROUP}/resourceflavors?dryRun=All", flavor("probe"))[0] == 201, 30)
        self.create(*objects)
        self._wait("all nodes", lambda: len(self.nodes_in("True")) == self.nodes, 180)
        return self

    def _post(self, path):
        """How many there are."""
        with open(path, encoding="utf-8") as file:
            texts = file.read().split("\n---\n")
        for text in texts:
            api, kind = (re.search(rf"^{key}: (\S+)", text, re.MULTILINE).group(1) for key in ("apiVersion", "kind"))
            self.call("POST", place(api, kind), text)
        return len(texts)

    def _kinds(self):
        status, told = self.api("GET", f"/apis/{GROUP}")
        return sum("/" not in one["name"] for one in told["resources"]) if status == 200 else 0

    def stop(self):
        if self.supervisor is not None:
            self.supervisor.stop()
            self.supervisor = None
        if self.lock is not None:
            self.lock.close()
            self.lock = None
        if self.own:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def _write(self):
        """One certificate is the servers', its own authority, and what service accounts are signed with."""
        # Kueue reads the certificate of its metrics from /etc/kueue: it gets an /etc of its own.
        certificates = self.path("etc/kueue/metrics/certs")
        os.makedirs(certificates, exist_ok=True)
        key, certificate = (os.path.join(certificates, name) for name in ("tls.key", "tls.crt"))
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                 "-subj", "/CN=allot", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", certificate)
        self.key, self.certificate = key, certificate
        self.trust = ssl.create_default_context(cafile=certificate)
        with open(certificate, "rb") as file:
            bundle = base64.b64encode(file.read()).decode()
        self._text("tokens.csv", [f"{token},{user},{user}{',' if user == 'allot' else ',system:masters'}" for user, token in self.tokens.items()])
        for user, token in self.tokens.items():
            self._text(f"{user}.kubeconfig", [json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "allot",
                "clusters": [{"name": "allot", "cluster": {"server": f"https://127.0.0.1:{self.port}", "certificate-authority-data": bundle}}],
                "users": [{"name": user, "user": {"token": token}}],
                "contexts": [{"name": "allot", "context": {"cluster": "allot", "user": user, "namespace": "default"}}]})])
        # What was made for a cluster with Kueue in it: Kueue is a process beside it.
        for name in ("crds.yaml", "webhooks.yaml"):
            with open(os.path.join(programs(), name), encoding="utf-8") as file:
                text = re.sub(r"service:\n +name: \S+\n +namespace: \S+\n( +)  path: (\S+)",
                              rf"caBundle: {bundle}\n\1url: https://127.0.0.1:{self.port + 3}\2", file.read())
            self._text(name, [text])
        shutil.copyfile(os.path.join(HERE, "stages.yaml"), self.path("stages.yaml"))
        self.configure_kueue(self.configuration)

    def configure_kueue(self, more):
        """Of its next start."""
        self._text("kueue.json", [json.dumps({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": "kueue-system",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.port + 4}"}, "metrics": {"bindAddress": f"127.0.0.1:{self.port + 5}"},
            "webhook": {"host": "127.0.0.1", "port": self.port + 3, "certDir": os.path.dirname(self.certificate)},
            "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
            "clientConnection": {"qps": 500, "burst": 1000},
            # As in Kueue's manifests; without it there is one of each.
            "controller": {"groupKindConcurrency": {"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5}},
            "integrations": {"frameworks": ["batch/job", "pod"]},
            "featureGates": {"VisibilityOnDemand": False}, **more})])

    def _text(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    # The parts

    def _command(self, part):
        plane = os.path.join(programs(), "control-plane")
        config = f"--kubeconfig={self.path(part + '.kubeconfig')}"
        etcd = f"127.0.0.1:{self.port + 1}"
        # As Kueue's, configured above: nobody waits for the limits of his own client.
        pace = ["--kube-api-qps=500", "--kube-api-burst=1000"]
        return {
            "etcd": [plane, "etcd", self.path("etcd"), etcd, f"127.0.0.1:{self.port + 2}"],
            "apiserver": [
                plane, "kube-apiserver", f"--etcd-servers=http://{etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self.port}",
                f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}", "--endpoint-reconciler-type=none",
                f"--token-auth-file={self.path('tokens.csv')}", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://127.0.0.1", f"--service-account-key-file={self.certificate}",
                f"--service-account-signing-key-file={self.key}",
                # Pods leave a node that is gone at once, not after five minutes.
                "--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2"],
            "manager": [
                plane, "kube-controller-manager", config, f"--service-account-private-key-file={self.key}", f"--root-ca-file={self.certificate}",
                "--leader-elect=false", "--secure-port=0", *pace, "--node-monitor-period=1s", "--controllers=" + ",".join(f"{name}-controller" for name in CONTROLLERS)],
            "scheduler": [plane, "kube-scheduler", config, "--leader-elect=false", "--secure-port=0", *pace],
            "kwok": [os.path.join(programs(), "kwok"), config, "--manage-all-nodes", "--node-ip=127.0.0.1",
                     "--node-lease-duration-seconds=40", f"--config={self.path('stages.yaml')}"],
            "kueue": ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount",
                      "sh", "-c", f'mount --bind "{self.path("etc")}" /etc && exec "$@"', "sh",
                      os.path.join(programs(), "kueue"), config, f"--config={self.path('kueue.json')}"],
        }[part] + self.options.get(part, [])

    def start_part(self, part, wait=True):
        self.supervisor.start(part, self._command(part), self.log_path(part))
        if wait:
            self._wait(part, lambda: self.answers(part), 180)

    def stop_part(self, part, number=signal.SIGKILL):
        self.supervisor.signal(part, number)
        self._wait(f"end of {part}", lambda: not self.supervisor.alive(part), 30)

    def restart_part(self, part, number=signal.SIGKILL, seconds=0):
        """`seconds`: how long it is away."""
        self.stop_part(part, number)
        time.sleep(seconds)
        self.start_part(part)

    def stop_part_for(self, part, seconds):
        """It is there and answers nobody."""
        self.supervisor.signal(part, signal.SIGSTOP)
        time.sleep(seconds)
        self.supervisor.signal(part, signal.SIGCONT)

    def answers(self, part):
        if not self.supervisor.alive(part):
            raise ClusterError(f"{part} has ended\n{self.last_words(part)}")
        if part not in ("etcd", "apiserver", "kueue"):
            return True
        port, path = {"etcd": (self.port + 1, "/health"), "apiserver": (self.port, "/readyz"), "kueue": (self.port + 4, "/readyz")}[part]
        try:
            return self._fetch("GET", path, port=port, tls=part == "apiserver")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def log_path(self, part):
        return self.path(f"{part}.txt")

    def last_words(self, *parts):
        told = []
        for part in parts or PARTS:
            try:
                with open(self.log_path(part), errors="replace", encoding="utf-8") as file:
                    told += [f"{part}: {line.rstrip()[:400]}" for line in file.readlines()[-5:]]
            except OSError:
                pass
        return "\n".join(told)

    def _wait(self, what, condition, seconds):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise ClusterError(f"{what}: not up after {seconds} s\n{self.last_words()}")
            time.sleep(0.1)

    # Nodes

    def nodes_in(self, ready):
        """Those whose condition Ready is "True", "False" or "Unknown"."""
        return [name for name, told in ((one["metadata"]["name"], condition(one, "Ready")) for one in self.list("/api/v1/nodes"))
                if told is not None and told["status"] == ready]

    def fail_node(self, name):
        """As when its power goes, and the cluster is told. Its pods are deleted 2 s later."""
        self.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"allot/down": "power"}}})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        down = {"type": "Ready", "status": "False", "reason": "power", "message": "", "lastHeartbeatTime": now, "lastTransitionTime": now}
        self.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [down]}}, content="strategic-merge-patch")

    def return_node(self, name):
        self.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"allot/down": None}}})

    # Requests

    def _fetch(self, method, path, body=None, headers=None, port=None, tls=True, timeout=60):
        port = port or self.port
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=self.trust) if tls else \
            http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        try:
            headers = dict(headers or {}, Authorization=f"Bearer {self.tokens['admin']}") if tls and "Authorization" not in (headers or {}) else headers or {}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def api(self, method, path, body=None, content="merge-patch", user="admin"):
        """(status, object): `body` is an object or YAML. `content` is of a PATCH: merge-patch, json-patch, strategic-merge-patch or
        apply-patch."""
        kind = f"application/{content}+{'yaml' if content == 'apply-patch' else 'json'}" if method == "PATCH" else \
            "application/yaml" if isinstance(body, str) else "application/json"
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": kind, "Accept": "application/json"}
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        status, text = self._fetch(method, path, text and text.encode(), headers)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, {"message": text.decode(errors="replace")}

    def call(self, method, path, body=None, content="merge-patch", user="admin"):
        """The object; raises where it is refused."""
        until = time.monotonic() + 30
        status, told = self.api(method, path, body, content, user)
        # The API server serves a new kind a moment after it was defined, and Kueue's webhooks may be too slow at first.
        while (status == 429 or (status == 500 and "failed calling webhook" in told.get("message", ""))) and time.monotonic() < until:
            time.sleep(0.2)
            status, told = self.api(method, path, body, content, user)
        if not 200 <= status < 300:
            raise ClusterError(f"{method} {path}: {status}: {told.get('message')}")
        return told

    def list(self, path):
        return self.call("GET", path).get("items", [])

    def workloads(self, namespace="default"):
        """By the name of the job that each is of; one of no job by its own."""
        return {next((owner["name"] for owner in one["metadata"].get("ownerReferences", [])), one["metadata"]["name"]): one
                for one in self.list(f"/apis/{GROUP}/namespaces/{namespace}/workloads")}

    def jobs(self, namespace="default"):
        return {one["metadata"]["name"]: one for one in self.list(f"/apis/batch/v1/namespaces/{namespace}/jobs")}

    def pods(self, namespace="default"):
        return {one["metadata"]["name"]: one for one in self.list(f"/api/v1/namespaces/{namespace}/pods")}

    def gpus_used(self):
        """By node: of the pods that are bound there and have not ended."""
        used = dict.fromkeys(self.names, 0)
        for pod in self.list("/api/v1/pods"):
            name = pod["spec"].get("nodeName")
            if name and pod["status"].get("phase") not in ("Succeeded", "Failed"):
                used[name] = used.get(name, 0) + sum(int(one.get("resources", {}).get("requests", {}).get(GPU, 0)) for one in pod["spec"]["containers"])
        return used

    def create(self, *objects):
        for one in objects:
            self.call("POST", place(one["apiVersion"], one["kind"], one["metadata"].get("namespace")), one)

    def apply(self, *objects):
        """Created or changed; what was applied before and is missing now goes."""
        for one in objects:
            path = place(one["apiVersion"], one["kind"], one["metadata"].get("namespace"))
            self.call("PATCH", f"{path}/{one['metadata']['name']}?fieldManager=cluster&force=true", one, content="apply-patch")

    def submit(self, name, queue, **more):
        """See job()."""
        self.create(job(name, queue, **more))
        return name

    def kubectl(self, *command, check=True, input=None):
        return self.run("kubectl", *command, check=check, input=input)

    def run(self, *command, check=True, input=None, environment=None, timeout=120):
        done = subprocess.run(command, env=dict(self.environment, **(environment or {})), capture_output=True, text=True, errors="surrogateescape",
                              stdin=None if input is not None else subprocess.DEVNULL, input=input, timeout=timeout)
        if check and done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
        return done


def condition(one, kind):
    """That condition of an object, or None."""
    return next((told for told in one.get("status", {}).get("conditions") or [] if told["type"] == kind), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--directory", help="kept at the end; without it, one that is removed")
    parser.add_argument("--no-hold", action="store_true", help="Kueue's own scheduler admits")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    interruptible()
    try:
        with Cluster(options.nodes, options.gpus, options.directory, teams(hold=not options.no_hold)) as cluster:
            print(f"export KUBECONFIG={cluster.kubeconfig}", file=sys.stderr, flush=True)
            if options.command:
                return run_inside(options.command, cluster.environment)
            while True:
                signal.pause()
    except ClusterError as problem:
        print(f"cluster: {problem}", file=sys.stderr)
        return 2
    except Interrupted:
        return 130


if __name__ == "__main__":
    sys.exit(main())
