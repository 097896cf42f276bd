"""Shows how the results of a batch are scored: progress on stderr, on stdout a summary or a line for each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from agent.output.fd_writer import FdWriter
from cli.json_line import json_line
from cli.number_format import count_text, plural
from cli.terminal import is_in_front, is_screen, say
from wire.exit_codes import Status
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from agent.batch.scoring.rescorer import Rescorer, Scoring

NAMED = 5
"""Results without a score that the summary names."""
FLUSH_S = 2.0
"""Seconds that an interrupted scoring waits for a reader that does not read."""
CLEAR = "\r\x1b[K"


class ScoreOutput:
    """`begin`, then `tell` for each result, then `end`, however it ends; `exit_code` follows."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._rescorer: Rescorer | None = None
        self._writer: FdWriter | None = None
        self._has_progress = is_screen(2) and is_in_front(2)
        self._broken: str | None = None
        self._sum = 0.0
        self._values = self._without = 0
        self._named: list[str] = []

    def begin(self, rescorer: Rescorer) -> None:
        self._rescorer = rescorer
        if self._as_json:
            self._writer = FdWriter(rescorer.loop, 1, self._on_broken)

    def _on_broken(self, reason: str) -> None:
        self._broken = reason
        assert self._rescorer is not None
        self._rescorer.stop()

    def is_full(self) -> bool:
        return self._writer is not None and self._writer.is_full

    def say(self, line: str) -> None:
        if self._has_progress:
            sys.stderr.write(CLEAR)
        say(f"zot batch score: {one_line(valid_text(line), 1000)}")

    def tell(self, scoring: Scoring) -> None:
        outcome, score = scoring.outcome, scoring.outcome.score
        value = None if score is None else score.value
        if scoring.failure or value is None:
            self._without += 1
            why = scoring.failure or (score.reason if score is not None else "")
            if len(self._named) < NAMED:
                self._named.append(one_line(valid_text(f"{outcome.id}: {why}"), 500))
        else:
            self._values += 1
            self._sum += value
        if self._writer is not None:
            record = {
                "id": outcome.id, "attempt": outcome.attempt, "status": outcome.status.value,
                "score": msgspec.to_builtins(score), **({"failure": scoring.failure} if scoring.failure else {}),
            }  # fmt: skip
            self._writer.write(json_line(record))
        if self._has_progress:
            sys.stderr.write(f"{CLEAR}{count_text(self._values + self._without)} scored")
            sys.stderr.flush()

    def end(self) -> None:
        """Waits until the reader of stdout has everything."""
        if self._has_progress:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
        rescorer, writer = self._rescorer, self._writer
        if writer is not None and rescorer is not None:
            deadline = rescorer.loop.clock() + FLUSH_S if rescorer.was_stopped else None
            rescorer.loop.run_until(lambda: writer.is_flushed, deadline)
            writer.close()

    def exit_code(self) -> int:
        """Prints the summary. Returns the exit status."""
        rescorer = self._rescorer
        assert rescorer is not None
        if not self._as_json:
            for line in self._summary():
                sys.stdout.write(line + "\n")
        if rescorer.failure or self._broken:
            return Status.ERROR.exit_code
        if rescorer.was_stopped:
            return Status.INTERRUPTED.exit_code
        return Status.PARTIAL_BATCH.exit_code if self._without else 0

    def _summary(self) -> list[str]:
        if not self._values + self._without:
            return ["nothing was scored"]
        mean = f", mean {self._sum / self._values:.4g}" if self._values else ""
        lines = [f"{plural(self._values, 'result')} scored{mean}"]
        lines += [f"no score: {line}" for line in self._named]
        if (more := self._without - len(self._named)) > 0:
            lines.append(f"no score: {count_text(more)} more; --missing scores them again")
        return lines
