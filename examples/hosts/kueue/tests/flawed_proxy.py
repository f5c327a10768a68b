# SPDX-License-Identifier: BSL-1.0
"""Stands between one client and the API server of a cluster, and does to what they say what networks, proxies and busy
servers do. Listens on 127.0.0.1, plain HTTP/1.1."""

import collections
import http.client
import http.server
import json
import random
import select
import socket
import struct
import threading
import time

# What may become of a request. Of a write the first six never reach the server, or only once its client has given up; the others do.
WRITE = ["reset", "conflict", "busy", "error", "away", "swallowed", "late",
         "lost", "conflict after", "error after", "half", "endless", "stall", "slow"]
READ = ["reset", "busy", "error", "away", "half", "endless", "stall", "slow"]
# Of a watch that is asked for, and of a line of one.
OPEN = ["reset", "busy", "error", "away", "gone", "lag"]
LINE = ["cut", "expired", "lag", "dribble", "end"]
# One in so many has a fault.
RATES = {"write": (WRITE, 4), "read": (READ, 4), "open": (OPEN, 3), "line": (LINE, 15)}
REFUSALS = {"conflict": (409, "Conflict"), "busy": (429, "TooManyRequests"), "error": (500, "InternalError"),
            "away": (503, "ServiceUnavailable"), "gone": (410, "Expired")}


def status_of(code, reason):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": code,
            "message": f"the proxy says {reason}"}


class FlawedProxy:
    """with FlawedProxy(cluster, seed) as proxy: a client with `proxy.kubeconfig`, as the user allot.

    `counts` are those of the faults. None after calm().
    """

    def __init__(self, cluster, seed):
        self.cluster, self.random = cluster, random.Random(seed)
        self.guard, self.is_calm = threading.Lock(), threading.Event()
        self.decks, self.counts = {}, collections.Counter()
        self.clients = set()
        self.listener = self._listen(0)
        self.port = self.listener.getsockname()[1]
        self.kubeconfig = cluster.path("proxy.kubeconfig")
        with open(cluster.path("allot.kubeconfig"), encoding="utf-8") as file:
            told = json.load(file)
        told["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump(told, file)

    def __enter__(self):
        for task in (self._accept, self._outages):
            threading.Thread(target=task, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.calm()
        listener, self.listener = self.listener, None
        self._close(listener)
        self._cut_all()

    def calm(self):
        self.is_calm.set()

    def kinds(self):
        """All that can happen, as in `counts`."""
        return {f"{of}: {kind}" for of, (kinds, _) in RATES.items() for kind in kinds} | {"outage"}

    def deal(self, of):
        """The fault of the next one of these, or None. All kinds come before one comes again."""
        with self.guard:
            kinds, rate = RATES[of]
            if self.is_calm.is_set() or self.random.randrange(rate):
                return None
            if not self.decks.get(of):
                self.decks[of] = self.random.sample(kinds, len(kinds))
            kind = self.decks[of].pop()
            self.counts[f"{of}: {kind}"] += 1
            return kind

    def between(self, low, high):
        with self.guard:
            return self.random.uniform(low, high)

    def pause(self, low, high):
        """Not after calm()."""
        self.is_calm.wait(self.between(low, high))

    # The listener

    @staticmethod
    def _listen(port):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(256)
        return listener

    @staticmethod
    def _close(one):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _accept(self):
        while (listener := self.listener) is not None:
            try:
                client, address = listener.accept()
            except OSError:
                time.sleep(0.02)
                continue
            threading.Thread(target=self._serve, args=(client, address), daemon=True).start()

    def _serve(self, client, address):
        self.clients.add(client)
        try:
            Handler(client, address, self)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self.clients.discard(client)
            client.close()

    def _cut_all(self):
        for client in list(self.clients):
            self._close(client)

    def _outages(self):
        """Nobody listens for a while, and all connections are cut."""
        while not self.is_calm.wait(self.between(8, 20)):
            self.counts["outage"] += 1
            listener = self.listener
            self._close(listener)
            listener.close()
            self._cut_all()
            self.pause(0.2, 3)
            self.listener = self._listen(self.port)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream = None

    def log_message(self, *_):
        pass

    def finish(self):
        if self.upstream is not None:
            self.upstream.close()
        super().finish()

    # To the client

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def head(self, code, headers):
        self.send_response_only(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, code, body, headers, pieces=1):
        self.head(code, {**headers, "Content-Length": str(len(body))})
        size = max(1, -(-len(body) // pieces))
        for at in range(0, len(body), size):
            if at:
                self.server.pause(0.05, 0.3)
            self.wfile.write(body[at:at + size])

    def refuse(self, kind):
        headers = {"Content-Type": "application/json"}
        if kind == "busy":
            headers["Retry-After"] = "1"
        self.answer(REFUSALS[kind][0], json.dumps(status_of(*REFUSALS[kind])).encode(), headers)

    def chunk(self, part):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    def await_hangup(self, seconds=60):
        """Until the client has given up, or for so long."""
        for _ in range(int(seconds / 0.1)):
            if self.server.is_calm.is_set() or select.select([self.connection], [], [], 0.1)[0]:
                return

    # To the server

    def forward(self, body):
        """Its answer."""
        if self.upstream is None:
            cluster = self.server.cluster
            self.upstream = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=cluster.trust)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection", "content-length")}
        self.upstream.request(self.command, self.path, body or None, headers)
        return self.upstream.getresponse()

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "watch=true" in self.path:
            self.handle_watch()
        else:
            self.handle_request(self.server.deal("read" if self.command == "GET" else "write"), body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def handle_request(self, fault, body):
        if fault == "reset":
            return self.reset()
        if fault in REFUSALS:
            return self.refuse(fault)
        if fault == "swallowed":
            self.await_hangup()
            return self.reset()
        if fault == "late":
            self.await_hangup()
            self.server.pause(0, 3)
        told = self.forward(body)
        headers = {name: value for name, value in told.getheaders() if name.lower() in ("content-type", "content-encoding", "retry-after")}
        text = told.read()
        if fault == "stall":
            self.await_hangup()
        if fault in ("lost", "late"):
            self.reset()
        elif fault in ("conflict after", "error after"):
            self.refuse(fault.split()[0])
        elif fault == "half":
            self.head(told.status, {**headers, "Content-Length": str(len(text))})
            self.wfile.write(text[:len(text) // 2])
            self.close_connection = True
        elif fault == "endless":
            self.head(told.status, {**headers, "Transfer-Encoding": "chunked"})
            self.chunk(text[:len(text) // 2 + 1])
            self.close_connection = True
        else:
            self.answer(told.status, text, headers, pieces=10 if fault == "slow" else 1)

    def handle_watch(self):
        fault = self.server.deal("open")
        if fault == "reset":
            return self.reset()
        if fault in REFUSALS:
            return self.refuse(fault)
        if fault == "lag":
            self.server.pause(1, 6)
        told = self.forward(None)
        headers = {"Content-Type": told.getheader("Content-Type", "application/json")}
        if told.status != 200:
            return self.answer(told.status, told.read(), headers)
        self.head(200, {**headers, "Transfer-Encoding": "chunked"})
        # What is left of the server's answer is not read.
        self.close_connection = True
        while line := told.readline():
            fault = self.server.deal("line")
            if fault == "cut":
                return self.chunk(line[:len(line) // 2])
            if fault == "expired":
                self.chunk(json.dumps({"type": "ERROR", "object": status_of(410, "Expired")}).encode() + b"\n")
                break
            if fault == "end":
                break
            if fault == "lag":
                self.server.pause(1, 6)
            if fault == "dribble":
                for at in range(0, len(line), 500):
                    self.chunk(line[at:at + 500])
                    self.server.pause(0.02, 0.2)
            else:
                self.chunk(line)
        self.wfile.write(b"0\r\n\r\n")
