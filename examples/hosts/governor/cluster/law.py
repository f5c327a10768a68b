# SPDX-License-Identifier: BSL-1.0
"""The law of quotas, computed from what a cluster says is used. Shares nothing with the governor.

Per quota x: its own pool E(x) = nominal, less the children's supplies where the number contains theirs; supply
S(x) = E(x) + sum of min(lend, S) of its children; balance T(x) = E(x) - used(x) + sum of min(lend, T) of its children.
The law: T >= 0 at a root, T(x) >= -borrow limit elsewhere.
"""

import collections
import time

UNLIMITED = float("inf")


class Law:
    def __init__(self, quotas):
        self.quotas = {quota["name"]: quota for quota in quotas}
        self.children = collections.defaultdict(list)
        for quota in quotas:
            if "parent" in quota:
                self.children[quota["parent"]].append(quota["name"])

    def nominal(self, name):
        nominal = self.quotas[name].get("nominal", {})
        return nominal if isinstance(nominal, (int, float)) else nominal.get("gpu", 0)

    def limit(self, name, which):
        quota = self.quotas[name]
        limit = "none" if quota.get("static") else quota.get(which, "all")
        if limit == "all":
            return UNLIMITED
        if limit == "none":
            return 0
        return limit["percent"] * self.nominal(name) / 100 if "percent" in limit else limit.get("gpu", UNLIMITED)

    def supply(self, name):
        return self.own(name) + sum(min(self.limit(child, "lend"), self.supply(child)) for child in self.children[name])

    def own(self, name):
        inside = sum(self.supply(child) for child in self.children[name]) if self.quotas[name].get("inclusive") else 0
        return self.nominal(name) - inside

    def balance(self, name, used):
        lent = sum(min(self.limit(child, "lend"), self.balance(child, used)) for child in self.children[name])
        return self.own(name) - used.get(name, 0) + lent

    def shortfalls(self, used):
        """{quota: (its balance, the least that the law allows)} of the quotas that have more than that."""
        found = {}
        for name, quota in self.quotas.items():
            least = -self.limit(name, "borrow") if "parent" in quota else 0
            balance = self.balance(name, used)
            if balance < least:
                found[name] = (balance, least)
        return found


class LawWatch:
    """Notes what must never be."""

    def __init__(self, quotas):
        self.law = Law(quotas)
        self.violations = []
        self.polls = self.most = 0
        self.since = time.time()
        self.excused_until = 0
        self.floors = {}

    def transition(self, quotas, seconds):
        """The quotas have changed, or jobs have started past the governor. Nobody is evicted without somebody who is owed
        the room, so a quota may stay above its limits; but it must not get any further from them after so many seconds."""
        self.law = Law(quotas)
        self.excused_until = time.time() + seconds
        self.floors = {}

    def check_law(self, used):
        found = self.law.shortfalls(used)
        if time.time() < self.excused_until:
            self.floors = {name: balance for name, (balance, _) in found.items()}
            return
        for name, (balance, least) in found.items():
            if balance < self.floors.get(name, least):
                self.note(f"{name}: its balance is {balance}, at least {least} is allowed; used: {dict(used)}")
        self.floors = {name: max(self.floors[name], balance) for name, (balance, _) in found.items() if name in self.floors}

    def note(self, what):
        self.violations.append(f"{time.time() - self.since:.1f} s: {what}")

    def until(self, condition, seconds, interval=0.2):
        """Polls until condition(jobs) holds. False after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            if condition(self.poll()):
                return True
            if time.monotonic() > end:
                return False
            time.sleep(interval)

    def idle(self, seconds, interval=0.2):
        self.until(lambda _: False, seconds, interval)
