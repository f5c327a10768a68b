# SPDX-License-Identifier: BSL-1.0
"""An HTTP server on 127.0.0.1 that does what real ones do to a client. Prints its port. Ends with its standard input.

usage: flawed_server.py [CERTIFICATE KEY [CLIENT_AUTHORITY]]
"""
import gzip
import http.server
import json
import os
import ssl
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunks(self, *parts):
        """Parts of a stream, after a pause each; None cuts the connection, "silence" keeps it as it is."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            if part == "silence":
                time.sleep(20)
            elif part is None:
                self.close_connection = True
                return
            else:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            time.sleep(0.03)
        self.wfile.write(b"0\r\n\r\n")

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        if path == "/slow":
            time.sleep(1)
            self.answer(200, b"{}")
        elif path == "/gzip":
            self.answer(200, gzip.compress(json.dumps({"x": "y" * 1000000}).encode()), Content_Encoding="gzip")
        elif path == "/busy":
            self.answer(429, b"{}", Retry_After="2")
        elif path == "/redirect":
            self.answer(302, b"", Location="/echo")
        elif path == "/nothing":
            self.close_connection = True
        elif path == "/half":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'{"x":1')
            self.close_connection = True
        elif path == "/watch/lines":
            self.chunks(b'{"a":', b'1}\n{"b":2}\n\n{"c"', b":3}\n")
        elif path == "/watch/cut":
            self.chunks(b'{"a":1}\n{"b":', None)
        elif path == "/watch/gone":
            self.answer(410, b'{"kind":"Status","code":410,"message":"too old"}')
        elif path == "/watch/long":
            self.chunks(*[b"x" * 100000] * 30)
        elif path == "/watch/silent":
            self.chunks(b'{"a":1}\n', "silence")
        elif path == "/watch/endless":
            self.chunks(b'{"a":1}\n', *[b"\n"] * 1000)
        else:
            said = {"how": self.command, "path": self.path, "headers": dict(self.headers), "body": body.decode()}
            self.answer(200, json.dumps(said).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if len(sys.argv) > 3:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
