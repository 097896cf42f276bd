"""Prints the results of `zot ext test`, for a person or as JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.json_line import print_json
from supervisor.harness.comparison import compact_json
from supervisor.harness.script import Side
from wire.text import counted

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.new_answers import AnswerChange, NewAnswers
    from supervisor.harness.result import ScriptResult
    from supervisor.harness.script import Script

STEPS_SHOWN = 10
"""Maximum number of lines shown: of a script before its failed line, and of stderr."""
FRAME_SHOWN = 160
"""Maximum length of a shown frame in characters."""


def report_for(found: FoundExtension, *, as_json: bool) -> JsonReport | TextReport:
    """The report of a test of this extension."""
    return JsonReport() if as_json else TextReport(found)


def _title(script: Script) -> str:
    return f" ({script.about.title})" if script.about.title else ""


class JsonReport:
    """Prints a JSON object for each script, and one with the totals."""

    def __init__(self) -> None:
        self.passed = self.failed = self.changed = 0

    def updated(self, script: Script, new: NewAnswers) -> None:
        self.passed += 1
        self.changed += bool(new.changes)
        changes = [
            {
                "line": change.line,
                "was": change.was,
                "now": change.now,
                "differences": [difference._asdict() for difference in change.differences],
            }
            for change in new.changes
        ]
        record = {"script": script.name, "title": script.about.title, "ok": True, "updated": bool(changes)}
        print_json({**record, "changes": changes})

    def add(self, script: Script, outcome: ScriptResult) -> None:
        self.passed += outcome.has_passed
        self.failed += not outcome.has_passed
        record: dict[str, Any] = {
            "script": outcome.script,
            "title": script.about.title,
            "ok": outcome.has_passed,
            "steps": outcome.steps,
            "done": outcome.done,
            "seconds": round(outcome.seconds, 3),
            "exit": outcome.exit,
        }
        if (failure := outcome.failure) is not None:
            record["failure"] = {
                "line": failure.step.line if failure.step else None,
                "reason": failure.reason,
                "expected": failure.step.frame if failure.step else None,
                "said": failure.said,
                "differences": [difference._asdict() for difference in failure.differences],
            }
            record["stderr"] = list(outcome.stderr)
        print_json(record)

    def close(self, *, has_scripts: bool) -> None:  # noqa: ARG002
        print_json({"passed": self.passed, "failed": self.failed})

    def close_update(self) -> None:
        unchanged = self.passed - self.changed
        print_json({"updated": self.changed, "unchanged": unchanged, "failed": self.failed})


class TextReport:
    """Prints lines for a person."""

    def __init__(self, found: FoundExtension) -> None:
        from cli.styled_lines import StyledLines

        self.passed = self.failed = self.changed = 0
        self._found = found
        self._line = StyledLines().put

    def updated(self, script: Script, new: NewAnswers) -> None:
        self.passed += 1
        if not new.changes:
            self._line(("same  ", "green"), (f"{script.name}{_title(script)}", ""))
            return
        self.changed += 1
        said = counted(len(new.changes), "line")
        self._line(("new   ", "yellow"), (f"{script.name}{_title(script)}", "bold"), (f"  {said} changed", "dim"))
        for change in new.changes:
            self._change(change)

    def _change(self, change: AnswerChange) -> None:
        if change.differences:
            self._line((f"      line {change.line}:", ""))
            for difference in change.differences:
                self._line((f"        - {difference.path}: {difference.expected}", "red"))
                self._line((f"        + {difference.path}: {difference.said}", "green"))
        elif change.now is None:
            self._line((f"      line {change.line} is left out: - {compact_json(change.was, FRAME_SHOWN)}", "red"))
        else:
            self._line((f"      new after line {change.line}: + {compact_json(change.now, FRAME_SHOWN)}", "green"))

    def close_update(self) -> None:
        unchanged = self.passed - self.changed
        failed = f", {self.failed} failed" if self.failed else ""
        said = f"{counted(self.changed, 'script')} updated, {unchanged} as before{failed}"
        self._line((said, "bold red" if self.failed else "bold green"))
        if self.changed:
            self._line(("Read the changes before you keep them: they are what it says, not what it should say.", ""))

    def add(self, script: Script, outcome: ScriptResult) -> None:
        self.passed += outcome.has_passed
        self.failed += not outcome.has_passed
        title = _title(script)
        steps = f"{counted(outcome.steps, 'line')}, " if outcome.steps else ""
        if outcome.failure is None:
            self._line(
                ("ok    ", "green"), (f"{outcome.script}{title}", ""), (f"  {steps}{outcome.seconds:.2f} s", "dim")
            )
            return
        self._line(("FAIL  ", "bold red"), (f"{outcome.script}{title}", "bold"))
        before = script.steps[: outcome.done]
        if len(before) > STEPS_SHOWN:
            self._line((f"      … {len(before) - STEPS_SHOWN} lines before are as they should be", "dim"))
        for step in before[-STEPS_SHOWN:]:
            arrow = "→" if step.side is Side.HOST else "←"
            self._line(
                ("      ok ", "green"), (f"line {step.line}: {arrow} {compact_json(step.frame, FRAME_SHOWN)}", "dim")
            )
        first, *rest = outcome.failure.lines()
        self._line(("      ", ""), (first, "red"))
        for line in rest:
            mark = line.strip()[:1]
            self._line(("      ", ""), (line, {"-": "green", "+": "red"}.get(mark, "")))
        if outcome.stderr:
            self._line(("      its last lines on stderr:", "dim"))
            for line in outcome.stderr[-STEPS_SHOWN:]:
                self._line((f"      | {line}", "dim"))

    def close(self, *, has_scripts: bool) -> None:
        said = f"{self.passed} passed"
        if self.failed:
            said += f", {self.failed} failed"
        self._line((said, "bold red" if self.failed else "bold green"))
        if not has_scripts:
            target = self._found.folder / "tests" / "first.jsonl"
            self._line(
                ("no scripts yet: ", ""),
                (f"zot ext drive {self._found.folder} --record {target}", "bold"),
                (" writes one while you try it out", ""),
            )
