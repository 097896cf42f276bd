"""The prompts of an MCP server as slash commands: their names, their arguments, and their text. Pure."""

from __future__ import annotations

import shlex
from typing import Any

from wire import frames
from wire.dialects.base import UnsendableError, Warned
from wire.dialects.json_values import kind_of, objects, string, text_of
from wire.dialects.mcp.protocol import GET_PROMPT
from wire.dialects.mcp.results import block_words, error_text, why_unfinished
from wire.dialects.mcp.tools import NAME_SHOWN, public_name
from wire.text import noun_for, one_line

ARGUMENTS_LIMIT = 256 * 1024
"""Maximum number of characters behind a slash command. Shell words are read one character at a time."""
ROLES = {"user": "User", "assistant": "Assistant"}


def registration(server: str, prompt: Any) -> tuple[str, frames.RegisterCommand] | Warned:
    """Returns the server's own name and the command of one prompt, or why it is left out. Never raises."""
    if not isinstance(prompt, dict):
        why = f"it is {kind_of(prompt)}, not an object"
        return Warned(f"prompt {why}", f"a prompt is skipped: {why}")
    name = prompt.get("name")
    if not isinstance(name, str) or not name:
        why = "it has no name" if name in (None, "") else f"its name is {kind_of(name)}, not a string"
        return Warned(f"prompt {why}", f"a prompt is skipped: {why}")
    said = string(prompt.get("description")) or string(prompt.get("title"))
    words = _usage(prompt)
    return name, frames.RegisterCommand(public_name(server, name), " ".join(filter(None, (said, words))) or None)


def _argument_names(prompt: Any) -> dict[str, bool]:
    """Returns the names of a prompt's arguments in their order, and whether each is required."""
    arguments = objects(prompt.get("arguments")) if isinstance(prompt, dict) else []
    return {name: each.get("required") is True for each in arguments if (name := string(each.get("name")))}


def _usage(prompt: Any) -> str:
    """Returns `PATH [LANGUAGE]` for a prompt with a required and an optional argument."""
    shown = [(one_line(name, NAME_SHOWN).upper(), required) for name, required in _argument_names(prompt).items()]
    return " ".join(name if required else f"[{name}]" for name, required in shown)


def arguments(prompt: Any, text: str) -> dict[str, str]:
    """Returns the arguments of a prompt from the text behind the command: shell words, by position or as `name=value`.
    A word that does not begin with a declared name is positional. The only argument of a prompt takes all words. Raises
    `UnsendableError`, whose text ends in a usage line."""
    declared = _argument_names(prompt)
    if len(text) > ARGUMENTS_LIMIT:
        raise _usage_error(prompt, f"the arguments have more than {ARGUMENTS_LIMIT:,} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        if len(declared) != 1:
            raise _usage_error(prompt, f"the arguments are no shell words: {str(error).lower()}") from None
        words = text.split()  # an apostrophe in a sentence
    given: dict[str, str] = {}
    by_position: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in declared:
            by_position.append(word)
        elif name in given:
            raise _usage_error(prompt, f"the argument {name!r} is given twice")
        else:
            given[name] = value
    free = [name for name in declared if name not in given]
    if len(declared) == 1 and free and by_position:
        by_position = [" ".join(by_position)]
    if len(by_position) > len(free):
        word = one_line(by_position[len(free)], NAME_SHOWN)
        raise _usage_error(prompt, f"{word!r} is one argument too many" if declared else "it takes no arguments")
    given |= zip(free, by_position, strict=False)
    if missing := [name for name, required in declared.items() if required and name not in given]:
        listed = ", ".join(repr(one_line(name, NAME_SHOWN)) for name in missing)
        raise _usage_error(
            prompt, f"the {noun_for(len(missing), 'argument')} {listed} {'are' if missing[1:] else 'is'} missing"
        )
    return {name: given[name] for name in declared if name in given}


def _usage_error(prompt: Any, what: str) -> UnsendableError:
    name = one_line(string(prompt.get("name")), NAME_SHOWN) if isinstance(prompt, dict) else ""
    usage = f"{name} {_usage(prompt)}".strip()
    return UnsendableError(f"{what}; usage: {usage} (shell words, by position or as name=value)")


def response(call_id: str, result: Any) -> frames.CommandResponse | frames.Malformed:
    """Returns the `result` of a `prompts/get` with its messages as the text of a prompt. Each has its role before it,
    unless all are the user's. Never raises."""
    if not isinstance(result, dict):
        return frames.Malformed(f"the result of {GET_PROMPT} is {kind_of(result)}, not an object", GET_PROMPT, call_id)
    if isinstance(fault := why_unfinished(result, GET_PROMPT, call_id), frames.Malformed):
        return fault
    if fault:
        return frames.CommandResponse(call_id, error=fault)
    messages = result.get("messages")
    if not isinstance(messages, list):
        return frames.Malformed(f"the messages of a prompt are {kind_of(messages)}, not a list", GET_PROMPT, call_id)
    spoken = [(role, text) for role, text in map(_role_and_text, messages) if text]
    if not spoken:
        return frames.CommandResponse(call_id, error="the server's prompt has no text")
    if all(role == "user" for role, _ in spoken):
        parts = [text for _, text in spoken]
    else:
        parts = [f"{ROLES.get(role, role)}: {text}" for role, text in spoken]
    return frames.CommandResponse(call_id, "prompt", "\n\n".join(parts))


def error_response(call_id: str, error: Any) -> frames.CommandResponse:
    """Returns the `error` of an answer to `prompts/get`. Never raises."""
    return frames.CommandResponse(call_id, error=error_text(error))


def _role_and_text(message: Any) -> tuple[str, str]:
    """Returns the role and the text of a message. A message without a role is the user's."""
    if not isinstance(message, dict):
        return "user", message if isinstance(message, str) else f"[a message that is {kind_of(message)}, not an object]"
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    role = one_line(string(message.get("role")), NAME_SHOWN) or "user"
    return role, "\n".join(filter(None, map(_words, blocks)))


def _words(block: Any) -> str:
    """Returns a block of a message as text: a prompt holds no images."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return "" if block is None else f"[a content block without a type]\n{text_of(block)}"
    words = block_words(block)
    return f"[a block of the unknown type {one_line(block['type'], NAME_SHOWN)!r}]" if words is None else words
