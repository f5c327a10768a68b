# SPDX-License-Identifier: BSL-1.0
"""Runs allot-kueue beside a cluster of cluster.py, with the rights of deploy/rbac.yaml and no others."""

import json
import os

from cluster import GROUP, TOP, ClusterError, cluster_queue
from process import GovernorProcess, wait_for  # noqa: F401

DEPLOY = os.path.join(TOP, "examples/hosts/kueue/deploy")
LABEL = "allot.dev/governed"
LEASE = "allot-system/allot-kueue"


def program():
    path = os.environ.get("ALLOT_KUEUE") or os.path.join(TOP, "build/release/allot-kueue")
    if not os.access(path, os.X_OK):
        raise ClusterError(f"no program {path}: ./dev kueue builds it")
    return os.path.abspath(path)


def governed_queue(name, gpus, **more):
    """A ClusterQueue with the label."""
    one = cluster_queue(name, gpus, **more)
    one["metadata"]["labels"] = {LABEL: "true"}
    return one


def bind_rights(cluster):
    """What `kubectl apply -k deploy` binds to a service account is bound to the user allot, too."""
    cluster.kubectl("apply", "-f", os.path.join(DEPLOY, "namespace.yaml"))
    cluster.kubectl("apply", "-n", "allot-system", "-f", os.path.join(DEPLOY, "rbac.yaml"))
    user = [{"op": "add", "path": "/subjects/-", "value": {"kind": "User", "name": "allot", "apiGroup": "rbac.authorization.k8s.io"}}]
    for kind, name in (("clusterrolebinding", "allot-kueue"), ("rolebinding", "allot-kueue-lease")):
        cluster.kubectl("patch", kind, name, "-n", "allot-system", "--type=json", "-p", json.dumps(user))


def set_queue(cluster, name, gpus=None, **spec):
    """Changes a ClusterQueue while jobs run: what it owns, or other members of its spec."""
    path = f"/apis/{GROUP}/clusterqueues/{name}"
    if gpus is not None:
        groups = cluster.call("GET", path)["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = gpus
        spec["resourceGroups"] = groups
    cluster.call("PATCH", path, {"spec": spec})


class Governor(GovernorProcess):
    """`options` are more of `allot-kueue run`."""

    def __init__(self, cluster, name="allot", policy="standard", options=()):
        self.cluster, self.name = cluster, name
        self.directory = cluster.path(f"governor-{name}")
        os.makedirs(self.directory, exist_ok=True)
        self.log_path, self.page, self.events = (os.path.join(self.directory, file) for file in ("log.txt", "page.html", "events.jsonl"))
        self.options = [*(["--policy", policy if isinstance(policy, str) else json.dumps(policy)] if policy else []), *options]
        self.connection = ["--kubeconfig", cluster.path("allot.kubeconfig")]

    def start(self, *options):
        # Without what else would say where the cluster is, and with which rights.
        environment = {key: value for key, value in self.cluster.environment.items() if key != "KUBECONFIG"}
        return self.start_command([program(), "run", *self.connection, "--directory", self.directory, "--page", self.page,
                                   "--events", self.events, *self.options, *options], environment)

    def call(self, *arguments, check=False):
        return self.cluster.run(program(), *arguments, check=check)

    def complaints(self):
        """What the API server has refused."""
        return [line for line in self.text().split("\n") if "orbidden" in line]
