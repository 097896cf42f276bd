"""The prompt of a run: the words of the command line, what is piped to stdin, or both. Decides; `stdin` reads."""

from __future__ import annotations

from enum import Enum

import msgspec

STDIN = "-"
"""The word that means standard input."""


class PromptError(ValueError):
    """There is no prompt, or not all of it could be read; the text says what to do."""


class StdinKind(Enum):
    """The kind of descriptor 0."""

    TERMINAL = "terminal"
    FILE = "file"
    """A regular file."""
    STREAM = "stream"
    """A pipe or a socket."""
    OTHER = "other"
    """/dev/null, another device, a folder, or nothing: closed."""


class StdinUse(Enum):
    """Whether stdin is read, and how long is waited for it."""

    NOT = "not"
    OFFERED = "offered"
    """It may have something to say: it is left alone if its first byte does not come soon."""
    WANTED = "wanted"
    """It is asked for: it is read to its end, however long that takes."""


class PromptPlan(msgspec.Struct, frozen=True):
    """The parts of the prompt's text."""

    before: str
    """The words that stand before what is piped."""
    after: str
    """The words that stand after it: after `-`."""
    reading: StdinUse
    has_images: bool = False


def plan_prompt(words: tuple[str, ...], kind: StdinKind, *, no_stdin: bool, has_images: bool = False) -> PromptPlan:
    """The parts of a prompt with these words. Raises `PromptError`.

    Without words the prompt is on stdin, and `-` among them asks for it. Otherwise only a pipe or a socket is read: a
    file is also the stdin of each command in a loop over that file. Images are a prompt without any text: then a pipe
    is not waited for as if it were the prompt.
    """
    if STDIN in words:
        if no_stdin:
            raise PromptError(f"--no-stdin and {STDIN} exclude each other")
        if words.count(STDIN) > 1:
            raise PromptError(f"{STDIN} stands for what is on stdin, and can stand once; put your text in quotes")
        at = words.index(STDIN)
        return PromptPlan(" ".join(words[:at]), " ".join(words[at + 1 :]), StdinUse.WANTED, has_images)
    if words:
        offered = kind is StdinKind.STREAM and not no_stdin
        return PromptPlan(" ".join(words), "", StdinUse.OFFERED if offered else StdinUse.NOT, has_images)
    if has_images and kind is StdinKind.STREAM and not no_stdin:
        return PromptPlan("", "", StdinUse.OFFERED, has_images)
    wanted = kind is not StdinKind.TERMINAL and not no_stdin
    return PromptPlan("", "", StdinUse.WANTED if wanted else StdinUse.NOT, has_images)


def join(plan_prompt: PromptPlan, piped: str) -> str:
    """The prompt: the words, a blank line, what was piped; also a blank line before words that follow it. Without words
    it is what was piped, without white space at its ends. Raises `PromptError` if nothing is left and there is no
    image."""
    parts = [part for part in (plan_prompt.before, piped.strip("\r\n"), plan_prompt.after) if part.strip()]
    if not parts and plan_prompt.has_images:
        return ""
    if not parts:
        raise PromptError(
            f"no prompt: {_why_none(plan_prompt)}. Give it as words, as -, or through a pipe; see zot --help"
        )
    if not (plan_prompt.before or plan_prompt.after):
        return piped.strip()
    return "\n\n".join(parts)


def begins_with_stdin(plan_prompt: PromptPlan) -> bool:
    """Whether the prompt begins with what is piped. That is never a command, even if it looks like one."""
    return plan_prompt.reading is not StdinUse.NOT and not plan_prompt.before


def _why_none(plan_prompt: PromptPlan) -> str:
    if plan_prompt.before or plan_prompt.after:
        return "its words are empty"
    return "stdin was empty" if plan_prompt.reading is StdinUse.WANTED else "no words and nothing piped in"
