"""Results of an MCP server's tools as neutral content: every kind of content, and faulty content. Pure.

Images are passed on unchanged: `agent.tools.extension_result` checks those of all dialects.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from wire import frames
from wire.dialects.json_values import as_json, kind_of, string, text_of
from wire.dialects.mcp.protocol import CALL_TOOL, INPUT_REQUIRED
from wire.frames import BLOCKS_LIMIT, ContentBlock
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD_LIMIT = 80
"""Maximum length of a server's type or name in our texts, in characters."""
URI_LIMIT = 2_000
"""Maximum length of a resource's uri in characters."""
DATA_LIMIT = 2_000
"""Maximum length of an error's data in characters."""
QUESTION_LIMIT = 500
"""Maximum length of a question to the user in characters."""
QUESTIONS_NAMED = 5


class NextRound(msgspec.Struct, frozen=True):
    """The server has not finished: the host must send the same request again, with this state."""

    request_state: str


def next_round(result: Any) -> NextRound | None:
    """Returns the next round if a result asks only for that; None if the result is the last one. Never raises."""
    if not isinstance(result, dict) or result.get("resultType") != INPUT_REQUIRED or result.get("inputRequests"):
        return None
    state = result.get("requestState")
    return NextRound(state) if isinstance(state, str) else None


def tool_result(call_id: str, result: Any) -> frames.ToolResult | frames.Malformed:
    """Returns the `result` of a `tools/call`. A text names each faulty part; the rest is kept. `Malformed` if it is not
    a result of a tool. Never raises."""
    if not isinstance(result, dict):
        return frames.Malformed(f"the result of tools/call is {kind_of(result)}, not an object", CALL_TOOL, call_id)
    if isinstance(fault := why_unfinished(result, CALL_TOOL, call_id), frames.Malformed):
        return fault
    if fault:
        return _error(call_id, fault)
    blocks = list(islice(_blocks(result), BLOCKS_LIMIT))
    is_error = result.get("isError")
    if is_error is not None and not isinstance(is_error, bool):
        blocks = blocks[: BLOCKS_LIMIT - 1]
        blocks.append(_text(f"[isError is {kind_of(is_error)}, not true or false; the result counts as no error]"))
    structured = result.get("structuredContent")
    return frames.ToolResult(
        call_id,
        blocks,
        True if is_error is True else None,
        structured_content=structured if isinstance(structured, Raw) else UNSET,
    )


def error_result(call_id: str, error: Any) -> frames.ToolResult:
    """Returns the `error` of an answer as an error result. Never raises."""
    return _error(call_id, error_text(error))


def error_text(error: Any) -> str:
    """Returns `MCP error -32602: …`, with the error's data."""
    if not isinstance(error, dict):
        return f"MCP error: {one_line(text_of(error), DATA_LIMIT)}"
    code, message, data = error.get("code"), error.get("message"), error.get("data")
    head = "MCP error" if code is None else f"MCP error {one_line(text_of(code), WORD_LIMIT)}"
    said = text_of(message) if message is not None else ""
    # Servers of the official SDK for TypeScript put the head into the message.
    text = said if said.startswith(head) else f"{head}: {said or 'without a message'}"
    if data not in (None, "", [], {}):
        text += f"\n{one_line(text_of(data), DATA_LIMIT)}"
    return text


def _error(call_id: str, text: str) -> frames.ToolResult:
    return frames.ToolResult(call_id, [_text(text)], is_error=True)


def _text(text: str) -> ContentBlock:
    return ContentBlock("text", text=text)


# --- results that do not end a request-----------------------------------------------------------------------


def why_unfinished(result: dict[str, Any], kind: str, call_id: str) -> str | frames.Malformed:
    """Returns why a result does not end its request: a text for the model if the server asks for input, which no user
    can give here; `Malformed` if the result has no meaning here; "" if it ends the request. `kind` is the request's
    method."""
    result_type = result.get("resultType", "complete")
    if result_type in ("complete", None):
        return ""
    if result_type != INPUT_REQUIRED:
        shown = one_line(text_of(result_type), WORD_LIMIT)
        return frames.Malformed(f"the result of {kind} has the type {shown!r}, which zot does not know", kind, call_id)
    asked = result.get("inputRequests")
    if isinstance(asked, dict) and asked:
        questions = [_question(request) for request in islice(asked.values(), QUESTIONS_NAMED)]
        more = f"; and {len(asked) - QUESTIONS_NAMED} more" if len(asked) > QUESTIONS_NAMED else ""
        return f"the server asks before it goes on, and no user can answer it here: {'; '.join(questions)}{more}"
    if isinstance(result.get("requestState"), str):
        return "the server asked again and again for another round, and never finished"
    return frames.Malformed(f"the result of {kind} asks for input, but does not say for which", kind, call_id)


def _question(request: Any) -> str:
    if not isinstance(request, dict):
        return f"{kind_of(request)}, not a request"
    method, params = string(request.get("method")), request.get("params")
    params = params if isinstance(params, dict) else {}
    asked = " ".join(filter(None, (string(params.get("message")), string(params.get("url")))))
    if not asked and (written := as_json(params)) is not None and params:
        asked = written.decode()
    name = one_line(method, WORD_LIMIT) or "a request without a method"
    return f"{name}: {one_line(asked, QUESTION_LIMIT)!r}" if asked else name


# --- content ------------------------------------------------------------------------------------------------


def _blocks(result: dict[str, Any]) -> Iterator[ContentBlock]:
    """Yields the blocks of a result, at most `BLOCKS_LIMIT`; its `structuredContent` only if it has no blocks, since
    servers send the same content in both."""
    content = result.get("content")
    is_empty = True
    for block in _content(content):
        is_empty = is_empty and block.type == "text" and not block.text
        yield block
    structured = result.get("structuredContent")
    if is_empty and structured is not None:
        yield _text(text_of(structured))


def _content(content: Any) -> Iterator[ContentBlock]:
    if content is None:
        return
    if isinstance(content, str | dict):
        content = [content]
    if not isinstance(content, list):
        yield _text(f"[the content of the result is {kind_of(content)}, not a list]")
        return
    if len(content) <= BLOCKS_LIMIT:
        yield from map(content_block, content)
        return
    yield from map(content_block, content[: BLOCKS_LIMIT - 1])
    yield _text(f"[{counted(len(content) - BLOCKS_LIMIT + 1, 'more block')} left out]")


def content_block(block: Any) -> ContentBlock:
    """Returns one block of content. Never raises."""
    if isinstance(block, str):
        return _text(block)
    if not isinstance(block, dict):
        return _text(f"[a content block that is {kind_of(block)}, not an object]")
    kind = block.get("type")
    if not isinstance(kind, str):
        said = "without a type" if kind is None else f"whose type is {kind_of(kind)}, not a string"
        return _text(f"[a content block {said}]{_rest(block.get('text'))}")
    if kind == "image":
        return _image(block)
    if (words := block_words(block)) is not None:
        return _text(words)
    return ContentBlock(kind)


def block_words(block: dict[str, Any]) -> str | None:
    """Returns a block as text; None if its kind is unknown. `type` must be a string."""
    match block["type"]:
        case "text":
            text = block.get("text")
            return text if isinstance(text, str) else f"[a text block whose text is {kind_of(text)}]{_rest(text)}"
        case "image" | "audio" as kind:
            return _of_bytes("an image" if kind == "image" else "audio", block.get("mimeType"), block.get("data"))
        case "resource":
            return _resource(block.get("resource"))
        case "resource_link":
            return _link(block)
    return None


def _rest(text: Any) -> str:
    """Returns a value in the place of a text as JSON, for the model, which may understand it."""
    return "" if text is None else f"\n{text_of(text)}"


def _image(block: dict[str, Any]) -> ContentBlock:
    data, mime_type = block.get("data"), block.get("mimeType")
    if not isinstance(data, str):
        return _text(f"[an image whose data is {kind_of(data)}, not a string]")
    return ContentBlock("image", mime_type=string(mime_type) or None, data=data)


def _of_bytes(what: str, mime_type: Any, data: Any) -> str:
    """Returns `[audio of type audio/wav, 12,345 bytes]`."""
    kind = one_line(string(mime_type), WORD_LIMIT)
    head = f"{what} of type {kind}" if kind else f"{what} of no named type"
    if not isinstance(data, str):
        return f"[{head}, whose data is {kind_of(data)}, not a string]"
    return f"[{head}, {size_of(data):,} bytes]"


def size_of(data: str) -> int:
    """Returns the number of bytes that a base64 text encodes."""
    return max(0, len(data) * 3 // 4 - data.count("=", -2)) if data else 0


def _resource(resource: Any) -> str:
    """Returns a resource's text under its uri, or the type and size of its bytes."""
    if not isinstance(resource, dict):
        return f"[a resource that is {kind_of(resource)}, not an object]"
    uri = one_line(string(resource.get("uri")), URI_LIMIT) or "[a resource without a uri]"
    if "text" in resource or "blob" not in resource:
        text = resource.get("text")
        return f"{uri}\n{text}" if isinstance(text, str) else f"{uri}\n[its text is {kind_of(text)}]{_rest(text)}"
    return f"{uri}\n{_of_bytes('bytes', resource.get('mimeType'), resource['blob'])}"


def _link(block: dict[str, Any]) -> str:
    """Returns `uri (name, type)`."""
    uri = one_line(string(block.get("uri")), URI_LIMIT) or "[a link to a resource without a uri]"
    named = [one_line(string(block.get(word)), WORD_LIMIT) for word in ("name", "mimeType")]
    besides = ", ".join(filter(None, named))
    return f"{uri} ({besides})" if besides else uri
