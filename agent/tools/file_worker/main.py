"""The process that runs the file tools: one JSON request per line in, one JSON answer per line out.

    {"id": ID, "name": "read", "args": {…}, "cwd": "/dir"}  →  {"id": ID, "content": […], "is_error": false}

With `"root": "/dir"` no tool opens anything that is not beneath that folder.

The first line out is `{"type": "ready"}`. The worker answers requests in order, each exactly once. No request ends the
process; the end of the input ends it with status 0. A line that is no request gets an answer with its id, or with null.

Start it as `python -I -S PATH/agent/tools/file_worker/main.py`. It imports only its siblings and modules of the
standard library that load fast.
"""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":
    # -I leaves the folder of the programs off the path.
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.abspath(os.path.join(folder, "..", "..", "..")))

from agent.tools import arguments, edit, read, write
from agent.tools.outcome import ToolError, ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import FileIO

_TOOLS = {"read": read.run, "write": write.run, "edit": edit.run}


def main() -> int:
    requests, answers = _take_standard_streams()
    try:
        _send(answers, {"type": "ready"})
        serve(requests, answers)
    except BrokenPipeError:
        pass  # the host is gone
    return 0


def serve(requests: Iterable[bytes], answers: FileIO) -> None:
    """Answers requests until their end. Raises BrokenPipeError if the host has gone."""
    for line in requests:
        _send(answers, answer(line))


def answer(line: bytes) -> dict[str, object]:
    """The answer to one request line; a failure is an answer, too."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _reply(None, ToolOutput.of_text(f"worker: the request is not JSON: {error}", is_error=True))
    if not isinstance(request, dict) or not isinstance(request.get("name"), str):
        identity = request.get("id") if isinstance(request, dict) else None
        return _reply(identity, ToolOutput.of_text("worker: the request has no tool name", is_error=True))
    where = request.get("cwd"), request.get("root")
    return _reply(request.get("id"), perform(request["name"], request.get("args"), *where))


def perform(name: str, args: object, cwd: object, root: object = None) -> ToolOutput:
    """Run one tool. An exception becomes an output with `is_error`."""
    tool = _TOOLS.get(name)
    try:
        if tool is None:
            raise ToolError(f'unknown tool "{name}"')
        where = (place if isinstance(place, str) else "" for place in (cwd, root))
        return tool(arguments.fields(args), *where)
    except ToolError as error:
        return ToolOutput.of_text(str(error), is_error=True)
    except Exception as error:
        return ToolOutput.of_text(f"{name}: {str(error) or type(error).__name__}", is_error=True)


def _reply(identity: object, output: ToolOutput) -> dict[str, object]:
    return {"id": identity, "content": output.content, "is_error": output.is_error}


def _send(answers: FileIO, message: dict[str, object]) -> None:
    # "replace": a path from the system may have bytes that are not UTF-8, and JSON cannot hold them.
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    view = memoryview(text.encode("utf-8", "replace") + b"\n")
    while view:
        view = view[answers.write(view) or 0 :]


def _take_standard_streams() -> tuple[Iterable[bytes], FileIO]:
    """The pipes to the host, moved to other descriptors, so that a stray print or input() cannot use them.

    Afterwards descriptor 0 reads nothing and descriptor 1 goes where standard error goes.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


if __name__ == "__main__":
    sys.exit(main())
