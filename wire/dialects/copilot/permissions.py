"""Permissions of tool calls: the request to a permission handler, and the verdict in its answer. Pure.

    ours                kind                    members that describe the call
    bash                shell                   fullCommandText, commands, possiblePaths, possibleUrls
    read                read                    path
    write, edit         write                   fileName, diff; of write newFileContents
    extensions_…        extension-management    operation, extensionName
    all others          custom-tool             toolName, toolDescription, args

Handlers approve a call by a test, for example of each of `commands`. So a doubtful entry is added to a list: for a
command that is not plain words, `commands` has the whole text and each word that may be a name, and every word that is
not an option is a possible path. Members as in the types of `@github/copilot-sdk` 1.0.0 and 1.0.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from wire.dialects.copilot.hooks import THROWN
from wire.dialects.copilot.tool_names import copilot_args, copilot_name
from wire.dialects.json_values import kind_of, text_of
from wire.dialects.shell_words import plain_words, urls_in, words_of
from wire.dialects.verdict import GuardVerdict, VerdictKind
from wire.text import one_line

if TYPE_CHECKING:
    from wire import frames
    from wire.dialects.copilot.join import Join

QUOTED = 80
"""Maximum number of characters that are shown of an unknown kind."""
NOT_ASKED = "its permission handler could not ask a user"
ASKED = "the extension wants a person to decide"
_MANAGEMENT = frozenset({"extensions_manage", "extensions_reload"})
_APPROVED = frozenset(
    {
        "approve-once", "approve-for-session", "approve-for-location", "approve-permanently", "approved",
        "approved-for-session", "approved-for-location",
    }
)  # fmt: skip
"""Kinds of approval. Each allows one call: the handler is asked again about the next."""
_REASONS = ("feedback", "message", "reason")
_SAID = {
    "reject": "refused by the extension's permission handler",
    "cancelled": "the extension's permission handler has cancelled the request",
    "denied-by-rules": "denied by rules of the extension",
    "denied-interactively-by-user": "denied by the user",
    "denied-by-content-exclusion-policy": "denied by a content exclusion policy of the extension",
}

# --- the request -----------------------------------------------------------------------------------------


def permission_request(event: frames.Event, joined: Join, cwd: str) -> dict[str, Any]:
    """Returns the `permissionRequest` for a `tool_call`. `cwd` is the working folder. Never raises."""
    tool = event.tool_name or ""
    args = _args(event, cwd)
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
        asked = {"kind": "custom-tool", "toolName": copilot_name(tool), "toolDescription": description, "args": args}
    return {**asked, "toolCallId": event.tool_id or ""}


def hook_request(event: frames.Event, message: str, cwd: str) -> dict[str, Any]:
    """Returns the `permissionRequest` for a `tool_call` about which a hook said `ask`. Never raises."""
    asked = {
        "kind": "hook",
        "toolCallId": event.tool_id or "",
        "toolName": copilot_name(event.tool_name or ""),
        "toolArgs": _args(event, cwd),
    }
    return {**asked, "hookMessage": message} if message else asked


def _args(event: frames.Event, cwd: str) -> Any:
    return {} if event.tool_args is UNSET else copilot_args(event.tool_name or "", event.tool_args, cwd)


def _text(value: Any) -> str:
    """Returns a text unchanged, any other value as JSON; "" for None."""
    return "" if value is None else text_of(value)


def _write(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    path = _text(args.get("path"))
    asked: dict[str, Any] = {"kind": "write", "intention": "", "canOfferSessionApproval": True, "fileName": path}
    if tool == "write":
        content = _text(args.get("file_text"))
        return {**asked, "diff": _diff(path, "", content), "newFileContents": content}
    return {**asked, "diff": _diff(path, _text(args.get("old_str")), _text(args.get("new_str")))}


def _diff(path: str, old: str, new: str) -> str:
    """Returns the removed and the added lines, without line numbers, which are unknown here."""
    lines = [f"--- {path}", f"+++ {path}", "@@"]
    for sign, text in (("-", old), ("+", new)):
        lines += [f"{sign}{line}" for line in text.split("\n")] if text else []
    return "\n".join(lines)


def _shell(command: str) -> dict[str, Any]:
    identifiers, paths = words_of(command)
    urls, is_redirected = urls_in(command), ">" in command
    return {
        "kind": "shell",
        "intention": "",
        "canOfferSessionApproval": plain_words(command) is not None and not urls and not is_redirected,
        "fullCommandText": command,
        "commands": [{"identifier": identifier, "readOnly": False} for identifier in identifiers],
        "possiblePaths": paths,
        "possibleUrls": [{"url": url} for url in urls],
        "hasWriteFileRedirection": is_redirected,
    }


# --- the answer --------------------------------------------------------------------------------------------


def read_permission(result: Any, verdict: GuardVerdict) -> GuardVerdict:
    """Returns the verdict in the `result` of an answer to a permission request. `verdict` is the hook's: allow, or ask
    with its reason. A kind that begins like a refusal is a refusal. Never raises."""
    if not isinstance(result, dict):
        return no_decision(verdict, f"the permission result is {kind_of(result)}, not an object")
    thrown = result.get(THROWN)
    if thrown is not None:
        return no_decision(verdict, f"its onPermissionRequest threw: {text_of(thrown)}")
    inner = result.get("result")
    if result.get("kind") == "attributed" and isinstance(inner, dict):
        result = inner  # newer SDKs add how the decision was reached
    kind = result.get("kind")
    if not isinstance(kind, str):
        said = "missing" if kind is None else f"{kind_of(kind)}, not a string"
        return no_decision(verdict, f"the kind of the permission result is {said}")
    if kind in _APPROVED:
        return replace(verdict, kind=VerdictKind.ALLOW, reason="") if verdict.kind is VerdictKind.ASK else verdict
    if kind in ("no-opinion", "no-result"):
        return verdict
    if kind == "user-not-available":
        return replace(verdict, kind=VerdictKind.ASK, reason=verdict.reason or NOT_ASKED)
    if kind.startswith(("reject", "den", "cancel")):
        given = (result.get(name) for name in _REASONS)
        reason = next((text for text in given if isinstance(text, str) and text.strip()), "")
        return GuardVerdict(VerdictKind.DENY, reason or _SAID.get(kind, _SAID["reject"]))
    return no_decision(verdict, f"the kind of the permission result is {one_line(kind, QUOTED)!r}, not a known one")


def no_decision(verdict: GuardVerdict, why: str) -> GuardVerdict:
    """Returns the verdict without a decision of the handler: deny after `ask` of a hook, else no verdict."""
    if verdict.kind is VerdictKind.ASK:
        return GuardVerdict(VerdictKind.DENY, f"{verdict.reason or ASKED} ({why})")
    return GuardVerdict(VerdictKind.NO_VERDICT, why)
