"""A web server with git repositories behind a password, which notes all command lines while it serves."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.support.install_sources import GIT_ENV

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


class GitServer:
    """Serves the repositories in a folder to this user only. The password may be empty."""

    def __init__(self, folder: Path, user: str, password: str) -> None:
        self.command_lines: set[bytes] = set()
        """Of all processes of the machine, as read during each request: a client that asks is alive."""
        self.granted = self.refused = 0
        expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.command_lines |= command_lines()
                if self.headers.get("Authorization") != expected:
                    server.refused += 1
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                server.granted += 1
                self._pass_on()

            do_POST = do_GET  # noqa: N815

            def _pass_on(self) -> None:
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = {
                    "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
                    "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": user,
                }  # fmt: skip
                reply = subprocess.run(
                    ["git", "http-backend"], input=body, env=GIT_ENV | request, capture_output=True, check=True
                ).stdout
                head, _, content = reply.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
                self.send_response(int(headers.pop("Status", "200").split()[0]))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self.address = f"127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def command_lines() -> set[bytes]:
    """The command lines of all processes; without /proc, as `ps` tells them."""
    if not os.path.isdir("/proc/self"):
        return {subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, check=True).stdout}
    found = set()
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found.add(file.read())
        except OSError:
            continue
    return found
