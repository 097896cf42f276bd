"""Permission requests: how a tool call looks in one, and what the answer of an extension's permission handler means.
Pure.

    ours                kind                    what tells what the call does
    bash                shell                   fullCommandText, commands, possiblePaths, possibleUrls
    read                read                    path
    write, edit         write                   fileName, diff; of write newFileContents
    extensions_…        extension-management    operation, extensionName
    all others          custom-tool             toolName, toolDescription, args

Handlers approve what passes a test, for example one that each of `commands` must pass. So a list holds rather too much
than too little: of a command that is not plain words, `commands` has the whole text and each word that may be a name,
and every word that is no option is a possible path. Members as in the types of `@github/copilot-sdk` 1.0.0 and 1.0.14.
"""

from __future__ import annotations

import re
import shlex
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from wire.dialects.copilot.hooks import THROWN
from wire.dialects.copilot.tool_names import told_args, told_name
from wire.dialects.json_values import kind_of, text_of
from wire.text import one_line

if TYPE_CHECKING:
    from wire import frames
    from wire.dialects.copilot.joining import Joined

PARSED = 4096
"""Characters of a command that is divided into words as a shell does it. A longer one is not plain."""
LOOKED_AT = 64 * 1024
"""Characters of a command in which words are looked for at all."""
QUOTED = 80
"""Characters of an unknown kind that are shown."""
_URL = re.compile(r"""[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s'"`<>|;&()]+""")
_NAME = re.compile(r"[A-Za-z0-9_./+-]+")
_NOT_PLAIN = re.compile(r"[`$\\\n\r]")
"""What makes a shell do other than the words say."""
_REDIRECTIONS = frozenset({"<", ">", ">>", ">|", ">&", "<&", "<>"})
_SEPARATORS = frozenset({";", "&", "&&", "|", "||", "(", ")"})
_PUNCTUATION = "();<>|&"
_KEYWORDS = frozenset(
    {
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
        "select", "time", "coproc", "eval", "exec", "command", "builtin", "source", ".",
    }
)  # fmt: skip
"""Words behind which another one is the name of the program."""
_MANAGEMENT = frozenset({"extensions_manage", "extensions_reload"})


# --- requests -----------------------------------------------------------------------------------------------


def permission_request(event: frames.Event, joined: Joined) -> dict[str, Any]:
    """The `permissionRequest` for a `tool_call`. Never raises."""
    tool = event.tool_name or ""
    args = _args(event)
    members = args if isinstance(args, dict) else {}
    if tool == "bash":
        asked = _shell(_text(members.get("command")))
    elif tool == "read":
        asked = {"kind": "read", "intention": "", "path": _text(members.get("path"))}
    elif tool in ("write", "edit"):
        asked = _write(tool, members)
    elif tool in _MANAGEMENT:
        asked = {
            "kind": "extension-management",
            "operation": "reload" if tool == "extensions_reload" else _text(members.get("operation")),
        }
        if "name" in members:
            asked["extensionName"] = _text(members["name"])
    else:
        own = joined.tools.get(tool)
        description = "" if own is None else own.description or ""
        asked = {"kind": "custom-tool", "toolName": told_name(tool), "toolDescription": description, "args": args}
    return {**asked, "toolCallId": event.tool_id or ""}


def hook_request(event: frames.Event, message: str) -> dict[str, Any]:
    """The `permissionRequest` for a `tool_call` about which a hook said `ask`. Never raises."""
    asked = {
        "kind": "hook",
        "toolCallId": event.tool_id or "",
        "toolName": told_name(event.tool_name or ""),
        "toolArgs": _args(event),
    }
    return {**asked, "hookMessage": message} if message else asked


def _args(event: frames.Event) -> Any:
    return {} if event.tool_args is UNSET else told_args(event.tool_name or "", event.tool_args)


def _text(value: Any) -> str:
    """A text as it is, anything else as JSON; "" for none."""
    return "" if value is None else text_of(value)


def _write(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    path = _text(args.get("path"))
    asked: dict[str, Any] = {"kind": "write", "intention": "", "canOfferSessionApproval": False, "fileName": path}
    if tool == "write":
        content = _text(args.get("file_text"))
        return {**asked, "diff": _diff(path, "", content), "newFileContents": content}
    return {**asked, "diff": _diff(path, _text(args.get("old_str")), _text(args.get("new_str")))}


def _diff(path: str, old: str, new: str) -> str:
    """The lines that go and those that come. Which lines of the file they are is not known here."""
    lines = [f"--- {path}", f"+++ {path}", "@@"]
    for sign, text in (("-", old), ("+", new)):
        lines += [f"{sign}{line}" for line in text.split("\n")] if text else []
    return "\n".join(lines)


def _shell(command: str) -> dict[str, Any]:
    identifiers, paths = _words_of(command)
    return {
        "kind": "shell",
        "intention": "",
        "canOfferSessionApproval": False,
        "fullCommandText": command,
        "commands": [{"identifier": identifier, "readOnly": False} for identifier in identifiers],
        "possiblePaths": paths,
        "possibleUrls": [{"url": url} for url in dict.fromkeys(_URL.findall(command[:LOOKED_AT]))],
        "hasWriteFileRedirection": ">" in command,
    }


def _words_of(command: str) -> tuple[list[str], list[str]]:
    """The names of the programs that a command starts, and all words that may be paths, each once."""
    found = None if len(command) > PARSED or _NOT_PLAIN.search(command) else _plain_words(command)
    if found is not None:
        return found
    words = re.split(r"[\s'\"`=<>|;&(){}$\\]+", command[:LOOKED_AT])
    names = [command, *(word for word in words if _NAME.fullmatch(word) and not word.startswith("-"))]
    paths = (word for word in words if word and not word.startswith("-"))
    return list(dict.fromkeys(names)), list(dict.fromkeys(paths))


def _plain_words(command: str) -> tuple[list[str], list[str]] | None:
    """The same of a command that is plain words, separators and redirections; None if it is not."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that does not end
        return None
    names: list[str] = []
    paths: list[str] = []
    is_first = True
    before = ""
    for word in words:
        if word in _SEPARATORS:
            is_first = True
        elif word in _REDIRECTIONS:
            pass
        elif word and not word.strip(_PUNCTUATION):
            return None
        elif before in _REDIRECTIONS:
            paths.append(word)
        elif not is_first:
            paths.append(word.rpartition("=")[2] if word.startswith("-") else word)
        elif _NAME.fullmatch(word) and word not in _KEYWORDS:
            names.append(word)
            is_first = False
        else:
            return None
        before = word
    if not names:
        return None
    return list(dict.fromkeys(names)), [path for path in dict.fromkeys(paths) if path and not path.startswith("-")]


# --- answers ------------------------------------------------------------------------------------------------


class Answer(Enum):
    APPROVED = "approved"
    REFUSED = "refused"
    NOBODY = "nobody could be asked"
    NO_OPINION = "no opinion"
    UNKNOWN = "not understood"


class Permission(NamedTuple):
    """What a permission handler has said."""

    answer: Answer
    reason: str = ""
    """With REFUSED what the model is told, with UNKNOWN what is wrong; else empty."""


_APPROVED = frozenset(
    {
        "approve-once", "approve-for-session", "approve-for-location", "approve-permanently", "approved",
        "approved-for-session", "approved-for-location",
    }
)  # fmt: skip
"""Each of them is valid for this one call: the handler is asked about the next one, too."""
_REASONS = ("feedback", "message", "reason")
_SAID = {
    "reject": "refused by the extension's permission handler",
    "cancelled": "the extension's permission handler has cancelled the request",
    "denied-by-rules": "denied by rules of the extension",
    "denied-interactively-by-user": "denied by the user",
    "denied-by-content-exclusion-policy": "denied by a content exclusion policy of the extension",
}


def read_permission(result: Any) -> Permission:
    """What the `result` of an answer to a permission request says. A kind that begins like a refusal is one. Never
    raises."""
    if not isinstance(result, dict):
        return Permission(Answer.UNKNOWN, f"the permission result is {kind_of(result)}, not an object")
    thrown = result.get(THROWN)
    if thrown is not None:
        return Permission(Answer.UNKNOWN, f"its onPermissionRequest threw: {text_of(thrown)}")
    inner = result.get("result")
    if result.get("kind") == "attributed" and isinstance(inner, dict):
        result = inner  # newer SDKs say besides how the decision was reached
    kind = result.get("kind")
    if not isinstance(kind, str):
        said = "missing" if kind is None else f"{kind_of(kind)}, not a string"
        return Permission(Answer.UNKNOWN, f"the kind of the permission result is {said}")
    if kind in _APPROVED:
        return Permission(Answer.APPROVED)
    if kind in ("no-opinion", "no-result"):
        return Permission(Answer.NO_OPINION)
    if kind == "user-not-available":
        return Permission(Answer.NOBODY)
    if kind.startswith(("reject", "den", "cancel")):
        given = (result.get(name) for name in _REASONS)
        reason = next((text for text in given if isinstance(text, str) and text.strip()), "")
        return Permission(Answer.REFUSED, reason or _SAID.get(kind, _SAID["reject"]))
    return Permission(
        Answer.UNKNOWN, f"the kind of the permission result is {one_line(kind, QUOTED)!r}, not a known one"
    )
