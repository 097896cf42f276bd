"""A real Chromium without a window, driven over a pipe (its DevTools protocol), so that a test sees what a reader sees:
the document after its script has run, what was logged, and what was asked from the network.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads its commands from descriptor 3 and answers on 4."""


def chromium() -> str:
    """The program; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium on PATH")
    return found


class Browser:
    """One process tree in a session of its own; `close` waits until all of it is gone."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._commands = os.pipe()
        replies, from_browser = os.pipe()
        self._replies = replies
        # Above 9, so that neither is in the way of the two that Chromium wants.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, given), chromium(), *FLAGS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=given,
            start_new_session=True,
        )
        for fd in (to_browser, from_browser, *given):
            os.close(fd)
        self._buffer = b""
        self._last_id = 0
        self.happened: list[dict[str, Any]] = []
        """All events of the page's session."""
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.on_page(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def call(self, method: str, *, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._last_id:
                assert "error" not in reply, reply["error"]
                return reply["result"]
            self.happened.append(reply)

    def on_page(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.call(method, session=self._session, **parameters)

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self._buffer:
            readable, _, _ = select.select([self._replies], [], [], max(0.0, deadline - time.monotonic()))
            assert readable, "the browser does not answer"
            data = os.read(self._replies, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Returns when the page's own script has ended."""
        self.happened.clear()
        self.on_page(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.on_page("Emulation.setEmulatedMedia", features=[scheme])
        self.on_page("Page.navigate", url=path.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.happened):
            self.happened.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, by way of JSON."""
        reply = self.on_page("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, *, pressed: bool = False, clicks: int = 0) -> None:
        self.on_page(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="left" if pressed else "none",
            buttons=int(pressed and kind != "mouseReleased"),
            clickCount=clicks,
        )

    def drag(self, from_x: float, to_x: float, y: float) -> None:
        self.mouse("mousePressed", from_x, y, pressed=True, clicks=1)
        self.mouse("mouseMoved", (from_x + to_x) / 2, y, pressed=True)
        self.mouse("mouseMoved", to_x, y, pressed=True)
        self.mouse("mouseReleased", to_x, y, pressed=True, clicks=1)

    def key(self, key: str) -> None:
        text = {"text": "\r"} if key == "Enter" else {}  # without a text it presses no button
        self.on_page("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.on_page("Input.dispatchKeyEvent", type="keyUp", key=key)

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions, console messages and log entries."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [each for each in self.happened if each.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses of all requests."""
        kind = "Network.requestWillBeSent"
        return [each["params"]["request"]["url"] for each in self.happened if each.get("method") == kind]

    def close(self) -> None:
        family = psutil.Process(self._process.pid).children(recursive=True)
        try:
            self.call("Browser.close")
        except (AssertionError, BrokenPipeError):  # it has gone before the answer
            pass
        os.close(self._commands)
        os.close(self._replies)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _, alive = psutil.wait_procs(family, timeout=5)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=5)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield browser
    finally:
        browser.close()
