"""A model in this process whose replies are prepared, for tests without a worker.

Where the worker, the SDK or the network take part, the model is a `MessagesServer`. Both must stay: a server costs a
thread, a worker and its SDK, and a test of turns needs none of them.
"""

from __future__ import annotations

import copy
import json

from agent.model.provider import Stream

USAGE = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}
SILENT = []
"""A reply that never begins."""
BEGUN = [{"type": "message_start", "usage": {}}, {"type": "text_delta", "delta": "Once"}]
"""A reply that never ends."""


class ScriptedModel:
    """Answers with prepared replies, then with `otherwise`, and remembers what it was asked. A reply that is a function
    is called then."""

    name = "scripted"
    error = None
    is_ready = True

    def __init__(self, *replies, otherwise=None):
        self.replies = list(replies)
        self.otherwise = otherwise
        self.may_reply = lambda _number: True
        """Whether the reply to this request, counted from 1, may be read; asked again after every pass of the loop."""
        self.asked = []
        self.cancelled = 0

    def start(self):
        pass

    def request(self, params):
        self.asked.append(copy.deepcopy(params))
        reply = self.otherwise if self.otherwise and not self.replies else self.replies.pop(0)
        number = len(self.asked)
        return _Held(lambda: self.may_reply(number), reply() if callable(reply) else reply)

    def cancel(self):
        self.cancelled += 1

    def warm_up(self):
        pass

    def stoppables(self):
        return ()


class _Held(Stream):
    def __init__(self, may_reply, lines):
        super().__init__(lines)
        self._may_reply = may_reply

    def has_line(self):
        return super().has_line() and self._may_reply()


def says(text, *calls, stop=None):
    lines = [{"type": "message_start", "usage": USAGE}]
    content = []
    if text:
        lines.append({"type": "text_delta", "delta": text})
        content.append({"type": "text", "text": text})
    for call_id, name, args in calls:
        written = args if isinstance(args, str) else json.dumps(args)
        lines += [
            {"type": "tool_use_start", "call_id": call_id, "name": name},
            {"type": "tool_use_end", "call_id": call_id},
        ]
        content.append({"type": "tool_call", "id": call_id, "name": name, "args": written})
    reason = stop or ("tool_use" if calls else "end_turn")
    return [*lines, {"type": "final", "content": content, "stop_reason": reason, "usage": USAGE}]


def fails(kind="invalid_request", message="no", status=400, **more):
    """A reply that is an error of the provider."""
    return [{"type": "error", "kind": kind, "status": status, "message": message, **more}]
