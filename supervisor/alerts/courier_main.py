"""The courier of a host: delivers events to the programs of the user's rules.

Standard input is a pipe from the host. Its first line has the rules, each further one an event. At its end, when the
host has ended or was killed, what waits is still delivered. Standard output gets a line about the first failure of each
rule; nobody may read it any longer.

A program gets one line of JSON on standard input, and is killed with its process group after `LIMIT_S`; what it leaves
in its group ends with it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.dirname(os.path.dirname(here)))

from supervisor.alerts.coalescer import Coalescer

LIMIT_S = 30.0
"""Seconds that one delivery may take."""
READ = 65536
TAIL = 2000
"""Bytes of a program's stderr that are kept, the last ones."""


class Delivery:
    """One program at work."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str, text: bytes, now: float) -> None:
        """Starts it. Raises `OSError` and `ValueError`."""
        with tempfile.TemporaryFile() as given:  # a pipe could fill up and make the courier wait
            given.write(text)
            given.seek(0)
            self.process = subprocess.Popen(
                argv, env=env, cwd=cwd, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        assert self.process.stderr is not None
        self.stderr = self.process.stderr
        os.set_blocking(self.stderr.fileno(), False)
        self.tail = b""
        self.ends_at = now + LIMIT_S
        self.was_killed = False

    def read(self) -> bool:
        """Reads what it has written to stderr. Returns False at the end."""
        try:
            data = os.read(self.stderr.fileno(), READ)
        except BlockingIOError:
            return True
        self.tail = (self.tail + data)[-TAIL:]
        return bool(data)

    def kill(self) -> None:
        """Kills all that is left of its process group."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended. Where the system can tell so, its pid is not free before `failure`."""
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def failure(self) -> str:
        """Ends all that is left of it. Returns why the delivery failed; empty if it did not."""
        self.kill()
        code = self.process.wait()
        self.read()
        self.stderr.close()
        lines = self.tail.decode("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        if self.was_killed:
            return f"took longer than {LIMIT_S:.0f} s and was killed{said}"
        if code < 0:
            return f"ended by signal {-code}{said}"
        return f"exit {code}{said}" if code else ""


class Rule:
    """One rule with its events."""

    def __init__(self, number: int, order: dict[str, Any]) -> None:
        self.number = number
        self.words = frozenset(order["events"])
        self.argv: list[str] = order["argv"]
        self.head: str = order["head"]
        """Comes before the JSON."""
        self.env: dict[str, str] = order["env"]
        self.events = Coalescer()
        self.delivery: Delivery | None = None
        self.has_failed = False


class Courier:
    """Reads what the host says, and delivers it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._rules: list[Rule] | None = None
        self._cwd = "/"
        self._rest = b""
        self._is_open = True
        """Whether the host may say more."""
        self._wake, wake = os.pipe()
        for fd in (0, self._wake, wake):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._selector.register(0, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)

    def run(self) -> None:
        """Returns when the host has ended and all is delivered."""
        while self._is_open or not all(rule.events.is_idle for rule in self._rules or ()):
            for key, _ in self._selector.select(self._timeout_s()):
                if key.fd == 0:
                    self._listen()
                elif key.fd == self._wake:
                    os.read(self._wake, READ)
                elif not key.data.read():
                    self._selector.unregister(key.fd)
            for rule in self._rules or ():
                self._advance(rule, time.monotonic())

    def _timeout_s(self) -> float | None:
        times = [rule.delivery.ends_at if rule.delivery else rule.events.due() for rule in self._rules or ()]
        first = min((at for at in times if at is not None), default=None)
        return None if first is None else max(0.0, first - time.monotonic())

    def _listen(self) -> None:
        try:
            data = os.read(0, READ)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(0)
            self._is_open = False
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if self._rules is None:
                self._rules = [Rule(number, order) for number, order in enumerate(said["rules"])]
                self._cwd = said["cwd"]
                continue
            for rule in self._rules:
                if said["event"]["event"] in rule.words:
                    rule.events.add(said["event"], said["left_out"])

    def _advance(self, rule: Rule, now: float) -> None:
        delivery = rule.delivery
        if delivery is not None:
            if delivery.has_ended:
                self._end(rule, delivery)
            elif now >= delivery.ends_at:
                delivery.was_killed = True
                delivery.ends_at = now + LIMIT_S
                delivery.kill()
        due = rule.events.due()
        if due is not None and due <= now:
            self._begin(rule, now)

    def _begin(self, rule: Rule, now: float) -> None:
        alert = json.dumps(rule.events.take(now), ensure_ascii=False, separators=(",", ":"))
        try:
            text = f"{rule.head}{alert}\n".encode("utf-8", "replace")
            rule.delivery = delivery = Delivery(rule.argv, rule.env, self._cwd, text, now)
        except (OSError, ValueError) as error:
            rule.events.ended()
            self._tell(rule, f"cannot be started: {getattr(error, 'strerror', None) or error}")
            return
        self._selector.register(delivery.stderr, selectors.EVENT_READ, delivery)

    def _end(self, rule: Rule, delivery: Delivery) -> None:
        if delivery.stderr.fileno() in self._selector.get_map():
            self._selector.unregister(delivery.stderr)
        rule.delivery = None
        if failure := delivery.failure():
            self._tell(rule, failure)
        rule.events.ended()

    def _tell(self, rule: Rule, failure: str) -> None:
        """Tells the host of the first failure of a rule."""
        if not rule.has_failed:
            rule.has_failed = True
            try:
                os.write(1, json.dumps({"rule": rule.number, "failure": failure[:TAIL]}).encode() + b"\n")
            except OSError:
                pass  # the host has ended


if __name__ == "__main__":
    Courier().run()
