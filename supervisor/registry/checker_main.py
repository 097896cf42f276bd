"""The process that checks arguments against schemas that are not plainly cheap.

A request is a line with the sizes of the schema and of the arguments in bytes, then both as JSON. The answer is a line:
`{"fault": TEXT}`, with "" for arguments that fit, or `{"trouble": TEXT}` if they cannot be checked. The first line out
is `{"ready": true}`. Requests are answered in order; the end of the input ends the process.

The kernel ends the process when one check takes too much processor time. The process keeps nothing of a request: a
check for one extension must not change the answer to another one.
"""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))

import resource
import signal
from typing import NoReturn

import jsonschema_rs

from supervisor.registry.plain_schema import FAULTS_NAMED, invalid_args, shorten
from wire.lenient_json import UNREADABLE, read

CPU_S = 1.0
"""Maximum of processor time of one check in seconds."""
MEMORY = 512 * 1024 * 1024
"""Maximum of address space in bytes."""
ALL_FAULTS_LIMIT = 32 * 1024 * 1024
"""Maximum of the product: bytes of the arguments, times bytes of the schema or of the arguments, whichever is larger.
Beyond it only the first fault is named: the validator collects all faults at once, each with a copy of the value."""


def check(schema: bytes, args: bytes) -> dict[str, str]:
    """The answer to one request."""
    try:
        value, _ = read(args)
    except UNREADABLE:
        return {"fault": ""}  # the caller reports invalid JSON
    outside: list[str] = []

    def refuse(uri: str) -> NoReturn:
        outside.append(uri)
        raise ValueError(uri)

    try:
        validator = jsonschema_rs.Draft202012Validator(
            {word: rule for word, rule in read(schema)[0].items() if word != "$schema"}, retriever=refuse
        )
        if validator.is_valid(value):
            return {"fault": ""}
        named = _all_faults if max(len(schema), len(args)) * len(args) < ALL_FAULTS_LIMIT else _first_fault
        return {"fault": named(validator, value)}
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        text = f"a reference leads out of it: {outside[0]}" if outside else str(getattr(error, "message", error))
        return {"trouble": shorten(text)}
    except MemoryError:
        return {"trouble": "a check of them takes too much memory"}


def _all_faults(validator: jsonschema_rs.Draft202012Validator, value: object) -> str:
    found: list[tuple[list[str | int], str]] = []
    for error in validator.iter_errors(value):
        if _is_fault(error):
            found.append((error.instance_path, error.message))
            if len(found) == FAULTS_NAMED:
                break
    return invalid_args(found)


def _first_fault(validator: jsonschema_rs.Draft202012Validator, value: object) -> str:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        if _is_fault(error):
            return invalid_args([(error.instance_path, error.message)])
    return ""


def _is_fault(error: jsonschema_rs.ValidationError) -> bool:
    """False if the match of a regular expression was stopped early: the text may fit."""
    return "Backtrack" not in type(error.kind).__name__


def serve() -> None:
    """Answers requests until the input ends, or the host is gone."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer

    def say(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()

    say({"ready": True})
    while line := requests.readline():
        schema, args = (requests.read(int(size)) for size in line.split())
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        answer = check(schema, args)
        signal.setitimer(signal.ITIMER_PROF, 0)
        say({**answer})


def main() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    for kind, limit in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (limit, limit))
        except (OSError, ValueError):
            pass  # macOS has no limit of the address space; or a lower limit is set already
    try:
        serve()
    except BrokenPipeError:
        os._exit(0)  # the host is gone


if __name__ == "__main__":
    main()
