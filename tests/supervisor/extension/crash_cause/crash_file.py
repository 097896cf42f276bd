"""Reads and writes the files in `crashes/`: programs that crash, the cause to find, and what they wrote to stderr.

A crash begins with `=== TITLE`. Its parts begin with `--- file NAME`, `--- build COMMAND`, `--- run COMMAND`,
`--- cause "ERROR" at FILE:LINE` and `--- stderr`. `{folder}` stands for the folder of the program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

CRASHES = Path(__file__).parent / "crashes"
LANGUAGES = {
    "python": "python3", "node": "node", "go": "go", "sh": "sh", "bash": "bash", "zsh": "zsh", "ruby": "ruby",
    "java": "javac",
}  # fmt: skip
"""The program that each file of crashes needs, beside those that a crash of it names."""
CAUSE = re.compile(r'"(?P<error>.*)"(?: at (?P<place>\S+))?')


@dataclass
class Crash:
    title: str
    files: dict[str, str] = field(default_factory=dict)
    build: str = ""
    run: str = ""
    cause: str = ""
    stderr: str = ""

    @property
    def needs(self) -> set[str]:
        """The programs that it needs."""
        text = "\n".join([self.build, self.run, *self.files.values()])
        return {program for program in ("python3", "node") if f"{program} " in text}

    def expected(self, folder: str) -> tuple[str, str]:
        """The error, and its place as `FILE:LINE`, `FILE` or an empty text."""
        found = CAUSE.fullmatch(self.cause)
        assert found is not None, self.title
        return found["error"].replace("{folder}", folder), found["place"] or ""


def read(language: str) -> tuple[str, list[Crash]]:
    """The lines above the first crash, and the crashes."""
    head, *texts = re.split(r"^=== ", (CRASHES / f"{language}.txt").read_text("utf-8"), flags=re.MULTILINE)
    return head, [_crash(text) for text in texts]


def _crash(text: str) -> Crash:
    title, *parts = re.split(r"^--- ", text, flags=re.MULTILINE)
    crash = Crash(title.strip())
    for part in parts:
        first, _, rest = part.partition("\n")
        kind, _, value = first.partition(" ")
        if kind == "file":
            crash.files[value] = rest
        elif kind == "stderr":
            crash.stderr = rest.removesuffix("\n")
        else:
            assert kind in ("build", "run", "cause"), first
            setattr(crash, kind, value)
    return crash


def write(language: str, head: str, crashes: list[Crash]) -> None:
    (CRASHES / f"{language}.txt").write_text(head + "\n".join(map(_text, crashes)), "utf-8")


def _text(crash: Crash) -> str:
    files = "".join(f"--- file {name}\n{text}" for name, text in crash.files.items())
    build = f"--- build {crash.build}\n" if crash.build else ""
    return (
        f"=== {crash.title}\n{files}{build}--- run {crash.run}\n--- cause {crash.cause}\n--- stderr\n{crash.stderr}\n"
    )
