"""The records of prompts as lines for the scrollback, and the part that is not finished yet.

`take` returns lines that are final: they are printed once and never drawn again. `live` is redrawn with the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...events import AnyEvent, ToolResult, Usage, UserMessage
from ...record import UnknownEvent
from . import markdown, tool_calls
from .figures import duration, summary
from .text import Palette, fit, wrap
from .tool_calls import RunningCall

PROMPT_LINES = 30
"""Lines of a prompt that are shown; the others are folded."""
LIVE_TEXT = 8
"""Rows of the reply that is being written."""
LOUD = {
    **dict.fromkeys(("no_verdict", "failed", "limit", "exited"), "red"),
    **dict.fromkeys(("blocked", "warning", "system_prompt", "error_handling"), "yellow"),
    **dict.fromkeys(("asked", "late", "restarted", "reloaded", "remark", "context"), "dim"),
}
"""The styles of notices that are shown. Others, such as a start, are not."""


class Transcript:
    """The view of one conversation. `columns` is the present width."""

    def __init__(self, palette: Palette, *, clock: Callable[[], float], columns: int) -> None:
        self.columns = columns
        self.waits_for = ""
        """The step of the prompt that takes time: thinking, or a pause before another attempt."""
        self.can_unfold = True
        """Whether a key shows what is folded; otherwise nothing is."""
        self.hidden = ""
        """The beginning of the next prompt that the user has not entered and does not see."""
        self.usage: Usage | None = None
        """The last use of a request that measures the conversation."""
        self._palette = palette
        self._clock = clock
        self._blocks = markdown.Blocks()
        self._running: dict[str, RunningCall] = {}
        self._since = 0.0
        """When the present step began."""
        self._unfold: Callable[[], list[str]] | None = None
        """Makes the lines that were folded last."""
        self._takers: dict[str, Callable[[Any], list[str]]] = {
            "user_message": self._user_message,
            "turn_start": lambda _event: self._wait("waiting for the model"),
            "assistant_start": lambda _event: self._wait("thinking"),
            "text_delta": self._text_delta,
            "usage": self._usage,
            "assistant_message": lambda _event: self._end_text(),
            "tool_use_start": lambda event: [*self._end_text(), *self._wait(f"writing a call of {event.name}")],
            "tool_call": self._tool_call,
            "tool_progress": self._tool_progress,
            "tool_result": self._tool_result,
            "turn_end": self._turn_end,
            "retry": lambda event: self._wait(
                f"{event.reason}: attempt {event.attempt} of {event.of} in {event.wait_s:.0f} s,"
            ),
            "compact_start": lambda _event: self._wait("summarising older messages"),
            "compact_done": lambda event: [
                palette.paint("dim", f"compacted: {event.messages_before} messages are now {event.messages_after}")
            ],
            "error": lambda event: [*self._end_text(), palette.paint("error", f"✗ {palette.clean(event.message)}")],
            "extension": self._notice,
            "result": self._result,
        }

    def take(self, event: AnyEvent) -> list[str]:
        """The lines that this record completes. One that does not fit its type is unknown."""
        taker = None if isinstance(event, UnknownEvent) else self._takers.get(event.type)
        return [] if taker is None else taker(event)

    def live(self, rows: int) -> list[str]:
        """The unfinished part, in at most `rows` rows."""
        now, columns, paint = self._clock(), self.columns, self._palette.paint
        lines: list[str] = []
        if text := self._blocks.rest:
            for line in self._palette.clean(text[-LIVE_TEXT * 4 * columns :]).split("\n")[-LIVE_TEXT:]:
                lines += wrap(line, columns)
            lines = lines[-LIVE_TEXT:]
        for running in self._running.values():
            lines += tool_calls.running_lines(running, now, columns, self._palette)
        if self.waits_for and not self._running and not text:
            step = self._palette.one_line(self.waits_for)
            lines.append(paint("dim", fit(f"… {step} {duration(now - self._since)}", columns)))
        return lines[-rows:] if rows > 0 else []

    def end(self, *, has_died: bool = False) -> list[str]:
        """Ends what is unfinished: the prompt is over, or the engine has died, and with it the calls of the user."""
        lines = self._end_text()
        self.waits_for = ""
        for id_, running in list(self._running.items()):
            if has_died or running.call.origin != "client":
                del self._running[id_]
                head = fit(tool_calls.headline(running.call, self._palette), self.columns)
                lines += [head, self._palette.paint("yellow", "  ✗ it has not finished"), ""]
        return lines

    def unfold(self) -> list[str]:
        """The lines that were folded last; none if they were shown already."""
        unfold, self._unfold = self._unfold, None
        return [] if unfold is None else unfold()

    def _wait(self, step: str) -> list[str]:
        self.waits_for, self._since = step, self._clock()
        return []

    def _user_message(self, event: UserMessage) -> list[str]:
        paint, text = self._palette.paint, tool_calls.text_of(event.content).removeprefix(self.hidden)
        lines = self._palette.clean(f"[{event.extension}] {text}" if event.extension else text).split("\n")
        shown = [paint("bold", "> ") + lines[0], *(f"  {line}" for line in lines[1:PROMPT_LINES])]
        if len(shown) < len(lines):
            shown.append(paint("dim", f"  … {len(lines) - len(shown)} more lines"))
        return [*shown, ""]

    def _text_delta(self, event: Any) -> list[str]:
        took = self._clock() - self._since
        step, self.waits_for = self.waits_for, ""
        lines = []
        if step == "thinking" and took >= 1:
            lines = [self._palette.paint("dim", f"… thought for {duration(took)} (Ctrl-T shows it)")]
        for block in self._blocks.add(event.delta):
            lines += [*markdown.render(block, self.columns, self._palette), ""]
        return lines

    def _end_text(self) -> list[str]:
        block = self._blocks.finish()
        return [*markdown.render(block, self.columns, self._palette), ""] if block.strip() else []

    def _usage(self, event: Usage) -> list[str]:
        if not event.auxiliary:
            self.usage = event
        return []

    def _tool_call(self, event: Any) -> list[str]:
        self._running[event.id] = RunningCall(event, self._clock())
        return self._end_text()

    def _tool_progress(self, event: Any) -> list[str]:
        if (running := self._running.get(event.id)) is not None:
            running.progress = (running.progress + event.text)[-tool_calls.TAIL :]
        return []

    def _tool_result(self, event: ToolResult) -> list[str]:
        running = self._running.pop(event.id, None)
        head = [fit(tool_calls.headline(running.call, self._palette), self.columns)] if running is not None else []
        is_diff = running is not None and running.call.name == "edit" and not running.call.extension
        text = tool_calls.text_of(event.content)
        style = {"": "red"} if event.is_error else tool_calls.DIFF if is_diff else {"": ""}
        shown, is_folded = tool_calls.folded_lines(text, style, self.columns, self._palette)
        if is_folded and not self.can_unfold:
            return [*head, *tool_calls.result_lines(text, style, self._palette), ""]
        if is_folded:
            self._unfold = lambda: [*head, *tool_calls.result_lines(text, style, self._palette), ""]
        return [*head, *shown, ""]

    def _turn_end(self, event: Any) -> list[str]:
        lines = self._end_text()
        self._wait("")
        if event.stop == "aborted":
            self._running.clear()
            lines.append(self._palette.paint("yellow", "✗ aborted"))
        elif event.stop == "length":
            lines.append(self._palette.paint("yellow", "the reply was cut at the model's maximum length"))
        return lines

    def _notice(self, event: Any) -> list[str]:
        if (style := LOUD.get(event.event)) is None:
            return []
        colon = "" if event.event in ("blocked", "asked") else ":"
        text = self._palette.one_line(f"{event.extension}{colon} {event.message}", 4000)
        return wrap(self._palette.paint(style, text), self.columns)

    def _result(self, event: Any) -> list[str]:
        return [*self.end(), self._palette.paint("dim", fit(summary(event), self.columns)), ""]
