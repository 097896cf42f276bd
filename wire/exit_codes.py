"""The ways in which a run can end, and the exit status for each."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a run ended. The value is the word in the `result` record; `exit_code` is the process's exit status."""

    OK = "ok"
    ERROR = "error"
    USAGE = "usage"
    BLOCKED = "blocked"
    MAX_STEPS = "max_steps"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    AUTHENTICATION = "authentication"
    RATE_LIMIT = "rate_limit"
    REQUIRED_EXTENSION = "required_extension"
    PARTIAL_BATCH = "partial_batch"
    INVALID_ANSWER = "invalid_answer"
    INTERRUPTED = "interrupted"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self][0]


OWN_REASONS = frozenset({Status.TIMEOUT, Status.BUDGET, Status.MAX_STEPS, Status.INTERRUPTED})
"""Statuses whose reason is worded by the host alone; any other may quote a request or an extension."""
EXIT_CODES: dict[Status, tuple[int, str]] = {
    Status.OK: (0, "the prompt was answered"),
    Status.ERROR: (1, "the model, its connection or zot itself failed"),
    Status.USAGE: (2, "the command line or an input file is wrong; nothing was run, and nothing is printed on stdout"),
    Status.BLOCKED: (3, "a guard extension refused the turn or withheld the final answer"),
    Status.MAX_STEPS: (4, "--max-steps was used up before the model finished"),
    Status.BUDGET: (5, "--max-cost-usd or --max-tokens was used up before the model finished"),
    Status.TIMEOUT: (6, "--timeout ran out"),
    Status.AUTHENTICATION: (7, "no credential, or the provider refused it"),
    Status.RATE_LIMIT: (8, "the provider is rate limiting or overloaded; try again later"),
    Status.REQUIRED_EXTENSION: (
        9,
        "an extension that says `required` in its manifest could not be started, or a guard that"
        " says `on_failure: deny` is not trusted",
    ),
    Status.PARTIAL_BATCH: (10, "zot batch: a task is not ok or was not run"),
    Status.INVALID_ANSWER: (11, "the final text is not JSON that fits --output-schema, also after one more turn"),
    Status.INTERRUPTED: (130, "SIGINT, SIGTERM, or the reader of stdout went away"),
}
"""Exit status and meaning of each `Status`. Only `zot batch` ends with 10; no single run does."""
