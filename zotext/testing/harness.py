"""Runs an extension in the process of the test: without a child and pipes, with the same threads and frames."""

from __future__ import annotations

import os
import shutil
import tempfile
import time

from ..connection import decode, encode
from ..server import Server
from .host_side import FEATURES, HostSide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from ..extension import Extension
    from .host_side import HostTools


class Harness(HostSide):
    """A host for one extension, which must not run elsewhere. Use it as a context manager; afterwards the extension can
    be used again. Without `data_dir` it makes a temporary folder and removes it at the end."""

    def __init__(
        self,
        extension: Extension,
        *,
        features: Collection[str] = FEATURES,
        cwd: str | os.PathLike[str] = ".",
        data_dir: str | os.PathLike[str] | None = None,
        timeout_s: float = 10.0,
        host_tools: HostTools | None = None,
    ) -> None:
        super().__init__(timeout_s, host_tools)
        self._extension = extension
        self._features = features
        self._cwd = os.path.abspath(cwd)
        self._given = data_dir
        self._temporary = ""
        self._server: Server | None = None

    def __enter__(self) -> Harness:
        if self._given is None:
            self._temporary = tempfile.mkdtemp(prefix="zotext-")
        data_dir = os.path.abspath(self._given) if self._given is not None else self._temporary
        self._extension.connect(self._hear)
        self._server = Server(self._extension.registry, self._hear, self._extension.greeted_by, self._extension.threads)
        self._send(self._hello_ack(self._cwd, os.getcwd(), data_dir, self._features))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def settle(self) -> None:
        """Waits until no handler runs. Raises `TimeoutError` if one still runs after `timeout_s`."""
        if self._server is not None and not self._server.wait_idle(time.monotonic() + self.timeout_s):
            raise TimeoutError(f"a handler still runs after {self.timeout_s} s")

    def stop(self) -> None:
        """Shuts the extension down: cancels the calls under way, then runs the handlers of `on_shutdown`."""
        if (server := self._server) is None:
            return
        self._server = None
        try:
            server.cancel_all("shutdown")
            done = server.wait_idle(time.monotonic() + self.timeout_s)
            server.close()
            done = server.run_shutdown_handlers(time.monotonic() + self.timeout_s) and done
        finally:
            self._extension.disconnect()
            if self._temporary:
                shutil.rmtree(self._temporary, ignore_errors=True)
        if not done:
            raise TimeoutError(f"a handler still runs {self.timeout_s} s after it was told to stop")

    def _send(self, frame: dict[str, Any]) -> None:
        if self._server is None:
            raise RuntimeError("the harness is not in use: write `with Harness(ext) as host:`")
        self._server.handle(decode(encode(frame)))

    def _hear(self, frame: dict[str, Any]) -> None:
        self._receive(decode(encode(frame)))

    def _settle(self) -> None:
        if self._server is not None and not self._server.wait_told(time.monotonic() + self.timeout_s):
            raise TimeoutError(f"the handlers of an event still run after {self.timeout_s} s")
