"""A registry for npm on loopback: it has the Copilot SDK in a few versions that are two small files each, or refuses,
or never answers."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

PACKAGE = "@github/copilot-sdk"


class NpmRegistry:
    """Serves until the end of the block. `asked` has the paths in order; a path with `-/` in it is one of a package."""

    def __init__(self, *versions: str, status: int = 200, holds: str | None = None, **changed: Any) -> None:
        """Answers all requests with `status`, if it is another than 200. Requests whose path has `holds` in it wait for
        the end. `changed` replaces members of the packages' package.json."""
        self._archives = {version: _archive(version, changed) for version in versions}
        self._status = status
        self._holds = holds
        self._ends = threading.Event()
        self.held = threading.Event()
        """Set once a request is being held."""
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        if self._holds is not None and self._holds in request.path:
            self.held.set()
            self._ends.wait()
            return
        status, body = self._status, b'{"error": "not for you"}'
        if status == 200:
            name = request.path.rpartition("/-/")[2].removesuffix(".tgz")
            body = self._archives[name] if "/-/" in request.path else json.dumps(self._index()).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _index(self) -> dict[str, Any]:
        versions = {}
        for version, archive in self._archives.items():
            sha512 = base64.b64encode(hashlib.sha512(archive).digest()).decode()
            dist = {"tarball": f"{self.url}{PACKAGE}/-/{version}.tgz", "integrity": f"sha512-{sha512}"}
            versions[version] = {"name": PACKAGE, "version": version, "dist": dist}
        return {"name": PACKAGE, "dist-tags": {"latest": list(versions)[-1]}, "versions": versions}


def _archive(version: str, changed: dict[str, Any]) -> bytes:
    described = {
        "name": PACKAGE,
        "version": version,
        "type": "module",
        "exports": {".": "./index.js", "./extension": "./extension.js"},
        "scripts": {"postinstall": "touch ran"},
        **changed,
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(described)), ("extension.js", "export {};\n")):
            data = text.encode()
            about = tarfile.TarInfo(f"package/{name}")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()
