"""Big, deep, empty and wrong arguments, unknown names, and texts of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.torture.arguments import valid_arguments, wrong_arguments
from supervisor.torture.fault import Family
from supervisor.torture.probe import Probe, ProbeKind
from supervisor.torture.steps import NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

ARGUMENTS = Family("arguments")
TEXTS = Family("unicode")


def _calls(trial: Trial, values: Sequence[Any], what: str) -> Steps:
    """Each value as the arguments of a call of the tool."""
    trial.needs_tool()
    yield from trial.start()
    player = trial.player
    for value in values:
        asked = player.packed(trial.forms.with_args(player.question().frame, value))
        player.write(asked.data)
        yield from player.awaits([asked], f"with {what}")
        player.is_answered_once([asked])
    yield from player.works(f"after a call with {what}")


@ARGUMENTS.add(
    "big-arguments",
    "a text of about a megabyte in a call",
    "It answers, if with an error, and answers the next call as fast as ever.",
)
def big_arguments(trial: Trial) -> Steps:
    trial.needs_text()
    yield from trial.start()
    asked = trial.player.ask("x" * trial.rng.randint(800_000, 1_200_000))
    yield from trial.player.awaits([asked], "with a megabyte of text")
    yield from trial.player.works("after a call with a megabyte of text")


@ARGUMENTS.add(
    "deep-arguments",
    "arguments that are nested more than a hundred levels deep",
    "It answers, if with an error, and answers the next call.",
)
def deep_arguments(trial: Trial) -> Steps:
    tool = trial.needs_tool()
    deep: Any = "core"
    for level in range(trial.rng.randint(110, 200)):
        deep = [deep] if level % 2 else {"in": deep}
    yield from _calls(trial, [{**valid_arguments(tool), "deep": deep}], "deep arguments")


@ARGUMENTS.add(
    "empty-arguments", "a call with {} as its arguments", "It answers, with an error if it needs more, and goes on."
)
def empty_arguments(trial: Trial) -> Steps:
    yield from _calls(trial, [{}], "empty arguments")


@ARGUMENTS.add(
    "wrong-arguments",
    "a call whose arguments all have a wrong type, or are null",
    "It answers with an error, or makes the best of them, and goes on.",
)
def wrong_argument_types(trial: Trial) -> Steps:
    wrong = wrong_arguments(trial.needs_tool())
    yield from _calls(trial, [wrong, dict.fromkeys(wrong)], "arguments of wrong types")


@ARGUMENTS.add(
    "arguments-that-are-no-object",
    "a call whose arguments are null, a list, a text, a number",
    "It answers with an error, or makes the best of them, and goes on.",
)
def arguments_that_are_no_object(trial: Trial) -> Steps:
    values: list[Any] = [None, [], ["x"], "x", 7, True]
    trial.rng.shuffle(values)
    yield from _calls(trial, values, "arguments that are no object")


@ARGUMENTS.add(
    "many-arguments",
    "a call with a thousand arguments more than the tool has",
    "It answers, with an error or without one, and goes on.",
)
def many_arguments(trial: Trial) -> Steps:
    valid = valid_arguments(trial.needs_tool())
    yield from _calls(trial, [{**{f"more{number}": number for number in range(1000)}, **valid}], "too many arguments")


@ARGUMENTS.add(
    "extreme-numbers",
    "numbers beyond 64 bits and beyond floating point, in arguments that are numbers or unknown",
    "It answers, with an error or without one, and goes on.",
)
def extreme_numbers(trial: Trial) -> Steps:
    tool = trial.needs_tool()
    properties = tool.schema.get("properties", {})
    names = [name for name, schema in properties.items() if isinstance(schema, dict) and schema.get("type") != "string"]
    extremes = [2**63, -(2**64), 10**40, 1e308, -0.0, 5e-324]
    valid = valid_arguments(tool)
    values = [{**valid, **dict.fromkeys([*names, "number"], extreme)} for extreme in extremes]
    yield from _calls(trial, values, "extreme numbers")


@ARGUMENTS.add(
    "unknown-name",
    "a call of a tool, or of a command, that it does not have",
    "It answers, best with an error, instead of leaving its host to wait; and goes on.",
)
def unknown_name(trial: Trial) -> Steps:
    subject = trial.subject
    probe = subject.probe
    if probe is None or probe.kind not in (ProbeKind.TOOL, ProbeKind.COMMAND):
        if not subject.commands:
            raise NotApplicableError("it has neither a tool nor a command that can be called")
        probe = Probe(ProbeKind.COMMAND, subject.commands[0])
    yield from trial.start()
    player = trial.player
    frame = trial.forms.with_name(player.question(probe=probe).frame, "zot_torture_nowhere")
    if frame is None:
        raise NotApplicableError("in its protocol a call of a tool that it does not have is for another extension")
    asked = player.packed(frame)
    player.write(asked.data)
    yield from player.awaits([asked], "of something that it does not have")
    yield from player.works("after a call of something that it does not have")


def _texts(trial: Trial, texts: Sequence[str], what: str, *, escaped: bool = False, is_answered: bool = True) -> Steps:
    """Each text in a question, alone and within others."""
    trial.needs_text()
    yield from trial.start()
    player = trial.player
    asked = []
    for text in (*texts, "".join(texts), f"before{texts[0]}after"):
        question = player.question("\0text\0")
        frame = _replace(question.frame, text)
        asked.append(player.packed(frame, escaped=escaped))
        player.write(asked[-1].data)
    if is_answered:
        yield from player.awaits(asked, f"with {what}")
    yield from player.works(f"after calls with {what}")
    player.is_answered_once(asked)


def _replace(value: Any, text: str) -> Any:
    """The frame with this text in place of the mark: sessions encode no lone surrogates."""
    if isinstance(value, dict):
        return {name: _replace(inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, text) for inner in value]
    return value.replace("\0text\0", text) if isinstance(value, str) else value


@TEXTS.add(
    "line-separators-in-text",
    "U+2028, U+2029, U+0085, vertical tab and form feed within a text",
    "It ends lines at line feeds alone, and answers each call once.",
)
def line_separators_in_text(trial: Trial) -> Steps:
    yield from _texts(trial, ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\r", "\x1c"], "line separators in a text")


@TEXTS.add(
    "lone-surrogates",
    "lone halves of surrogate pairs, as \\u escapes",
    "It answers with replacement characters or an error, or skips the frame; it writes valid UTF-8, and goes on.",
)
def lone_surrogates(trial: Trial) -> Steps:
    texts = ["\ud800", "\udfff", "\ude00\ud83d"]
    yield from _texts(trial, texts, "lone surrogates", escaped=True, is_answered=False)


@TEXTS.add(
    "nul-and-controls",
    "U+0000 and other control characters, escaped",
    "It answers, with an error where it cannot use them, and goes on.",
)
def nul_and_controls(trial: Trial) -> Steps:
    controls = "".join(map(chr, range(1, 32)))
    yield from _texts(trial, ["\x00", controls, "\x7f", "\x1b[2J"], "control characters")


@TEXTS.add(
    "emoji-and-right-to-left",
    "emoji of several code points, right-to-left marks, combining characters, a byte order mark, in raw UTF-8",
    "It answers each call, and cuts no character in half.",
)
def emoji_and_right_to_left(trial: Trial) -> Steps:
    texts = ["👩‍👩‍👧‍👦🏳️‍🌈", "\u202eabc\u202c", "שלום مرحبا", "e\u0301\u0327" * 20, "\ufeff", "\U0010ffff\uffff"]
    yield from _texts(trial, texts, "emoji and right-to-left text")


@TEXTS.add(
    "escaped-text",
    "the same characters as \\u escapes, in pairs where they need two",
    "It answers each call: a pair of escapes is one character.",
)
def escaped_text(trial: Trial) -> Steps:
    yield from _texts(trial, ["😀", "ä€", "\u2028", '"\\/\b'], "escaped characters", escaped=True)
