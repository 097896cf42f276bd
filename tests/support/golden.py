"""An event stream as text: one line per record, without what differs from run to run."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from wire import events

if TYPE_CHECKING:
    from tests.support.zot_process import Outcome, Zot


def golden(outcome: Outcome, zot: Zot | None = None) -> str:
    """The stream without notes of extensions, whose order varies. With `zot`, its folders are `<cwd>` and `<home>`."""
    text = "\n".join(_line(record) for record in outcome.records if not isinstance(record, events.ExtNotify))
    if zot is not None:
        text = text.replace(str(zot.cwd), "<cwd>").replace(str(zot.home), "<home>")
    text = re.sub(r"127\.0\.0\.1:\d+", "<server>", text)
    return re.sub(r"Took \d+\.\ds", "Took <time>", text)


def lines(text: str) -> str:
    """A stream as a test writes it: indented, between blank lines."""
    return dedent(text).strip()


def shape(outcome: Outcome) -> list[str]:
    """The types only, where the content is not the point."""
    return [_type(record) for record in outcome.records]


def _type(record: events.Record) -> str:
    return str(json.loads(events.encode(record))["type"])


def _line(record: events.Record) -> str:  # noqa: C901  one arm for each record
    match record:
        case events.UserMessage(content):
            rest = _content(content)
        case events.TurnStart(step):
            rest = str(step)
        case events.TextDelta(delta):
            rest = repr(delta)
        case events.ToolUseStart(call_id, name):
            rest = f"{call_id} {name}"
        case events.ToolUseArgs(call_id, delta):
            rest = f"{call_id} {delta!r}"
        case events.ToolUseEnd(call_id):
            rest = call_id
        case events.Usage():
            rest = f"{record.input}+{record.output} so far {record.cumulative.input}+{record.cumulative.output}"
        case events.AssistantMessage(content):
            rest = _content(content)
        case events.ToolCall(call_id, name, args):
            rest = f"{call_id} {name} {bytes(args).decode()}"
        case events.TurnEnd(stop, error):
            rest = f"{stop}: {error}" if isinstance(error, str) else stop
        case events.ToolProgress(call_id, text):
            rest = f"{call_id} {text!r}"
        case events.ToolResult(call_id, is_error, content):
            rest = f"{call_id} {'error' if is_error else 'ok'} {_content(content)}"
        case events.Error(message):
            rest = message
        case events.Session():
            rest = ",".join(record.extensions)
        case events.Extension(name, event, message):
            rest = f"{name} {event}: {message}"
        case events.Retry(attempt, of, wait_s, reason, status):
            rest = f"{attempt} of {of} in {wait_s} s: {reason} {status}"
        case events.Result():
            rest = f"{record.status} {record.exit_code} {record.text!r} steps={record.steps}"
            rest += f": {record.reason}" if record.reason else ""
        case _:
            rest = ""
    return f"{_type(record)} {rest}".rstrip()


def _content(blocks: Any) -> str:
    return " | ".join(_block(block) for block in blocks)


def _block(block: Any) -> str:
    match block:
        case events.TextContent(text):
            return repr(text)
        case events.ImageContent(mime_type, size):
            return f"{mime_type} of {size} bytes"
        case events.ToolCallContent(call_id, name, args):
            return f"{call_id} {name} {bytes(args).decode()}"
    raise AssertionError(block)
