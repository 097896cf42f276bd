"""Replaces texts that differ between machines and runs by placeholders, so that a cassette plays anywhere. Pure.

| in a cassette | on this machine |
|---|---|
| `{{cwd}}` | the working directory, also as its real path |
| `{{home}}` | the home directory |
| `{{zot_home}}` | `$ZOT_HOME` |
| `{{repository}}` | the root of the repository |
| `{{log1}}`, `{{log2}}`… | files with the whole text of a cut output, as the request names them |
| `{{date}}` | the date in the system prompt (requests only) |
| `{{time}}` | the duration of a command in the result of bash (requests only) |
| `{{lit:cwd}}`… | a text that was `{{cwd}}`… from the start |

A run gives a name to the last three of these directories only if its system prompt names a file in them.

Apart from these paths, the model's text does not change. Directories are replaced as whole path components, so a
neighbour of the working directory (`/work-old` beside `/work`) stays as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Json = dict[str, Any]

_LOG = re.compile(r"/zot-(?:bash-[0-9a-f]+\.log|result-[0-9a-f]+\.txt)(?!\w)")
"""Files of `agent.tools.shell.full_log` and of `agent.tools.extension_result`."""
PATH_LENGTH = 4096
"""Maximum of the path of a log in characters."""
PATH_PARTS = 64
"""Maximum of names in the path of a log."""
_LOG_NAME = re.compile(r"log\d+")
_LOG_PLACEHOLDER = re.compile(r"\{\{log(\d{1,9})\}\}")
_NOT_IN_A_PATH = frozenset(" \t\r\n\"'\\")
_DATE = re.compile(r"^(Current date: )\d{4}-\d{2}-\d{2}$", re.MULTILINE)
_TOOK = re.compile(r"\bTook (?:\d+(?:\.\d+)?s|\d+m\d+s|\d+h\d+m)(?!\w)")
_PLACEHOLDER = r"\{\{(?:lit:)*(?:cwd|home|zot_home|repository|log\d+|date|time)\}\}"
_NAME = re.compile(r"\{\{((?:lit:)*)(cwd|home|zot_home|repository|log\d+|date|time)\}\}")
# A match must not begin inside a longer path. In JSON text an escape such as \n may stand before a path.
_BEFORE = r"(?:(?<![\w.\-~])|(?<=\\[nrtbf]))"
_AFTER = r"(?![\w\-])(?!\.\w)"


def canonical(
    params: Mapping[str, Any], *, cwd: str, home: str | None = None, places: Mapping[str, str] | None = None
) -> Json:
    """The request parameters with placeholders and without cache markers. Equal requests of different machines give
    equal parameters."""
    return PlaceholderNames.of(params, cwd=cwd, home=home, places=places).request(params)


class PlaceholderNames:
    """The placeholders of one exchange, with their values on this machine."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        """`values`: for each name, the texts that its placeholder replaces. Playing restores the first one."""
        self._values = {name: texts[0] for name, texts in values.items()}
        self._plain = _Encoder(values, lambda text: {text})
        self._json = _Encoder(values, lambda text: {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]})

    @classmethod
    def of(
        cls, params: Mapping[str, Any], *, cwd: str, home: str | None, places: Mapping[str, str] | None = None
    ) -> PlaceholderNames:
        """The names for a request and its reply. `places`: further directories by name. The root directory gets no
        name, because every path starts with it."""
        values: dict[str, list[str]] = {}
        for name, directory in {"cwd": cwd, "home": home, **(places or {})}.items():
            paths = [] if directory is None else [directory.rstrip("/"), os.path.realpath(directory)]
            paths = [path for path in dict.fromkeys(paths) if len(path) > 1]
            if paths:
                values[name] = paths
        logs = dict.fromkeys(log for text in _texts(params.get("messages")) for log in _logs(text))
        for number, log in enumerate(logs, 1):
            values[f"log{number}"] = [log]
        return cls(values)

    def request(self, params: Mapping[str, Any]) -> Json:
        """The parameters for a cassette."""
        request = {key: self._encode_value(value) for key, value in params.items() if key != "cache_control"}
        if isinstance(system := request.get("system"), list):
            request["system"] = [_replace_date(_unmark(block)) for block in system]
        if isinstance(tools := request.get("tools"), list):
            request["tools"] = [_unmark(tool) for tool in tools]
        if isinstance(messages := request.get("messages"), list):
            request["messages"] = [{**message, "content": _content(message["content"])} for message in messages]
        return request

    def recorded(self, reply: Iterable[Mapping[str, Any]]) -> list[Json]:
        """The lines of a reply for a cassette."""
        lines: list[Json] = []
        for stream, group in groupby(reply, _stream):
            if stream is None:
                lines += [self._line(line, self._plain.encode, self._json.encode) for line in group]
            else:
                encoder = self._json if stream[0] == "tool_use_args" else self._plain
                lines += _encode_deltas(list(group), encoder)
        return lines

    def played(self, reply: Iterable[Mapping[str, Any]]) -> list[Json]:
        """The lines of a recorded reply with the values of this machine."""
        return [self._line(line, self._decode, self._decode_json) for line in reply]

    def restored(self, text: str) -> str:
        """A text of a recorded request with the values of this machine. A duration becomes 0 s, and each log gets the
        path of a file that does not exist, so that the same request gets the same placeholders again."""
        text = self._decode(text).replace("Took {{time}}", "Took 0.0s")
        return _LOG_PLACEHOLDER.sub(lambda match: f"/recorded/zot-bash-{int(match[1]):x}.log", text)

    def _encode_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._plain.encode(value)
        if isinstance(value, list):
            return [self._encode_value(item) for item in value]
        if isinstance(value, dict):
            return {self._plain.encode(key): self._encode_value(item) for key, item in value.items()}
        return value

    def _line(self, line: Mapping[str, Any], text: Callable[[str], str], args: Callable[[str], str]) -> Json:
        """The line with `text` applied to its plain texts and `args` to its JSON texts."""
        changed = dict(line)
        if "delta" in line:
            changed["delta"] = (args if line["type"] == "tool_use_args" else text)(line["delta"])
        if "message" in line:
            changed["message"] = text(line["message"])
        if "content" in line:
            changed["content"] = [_reply_block(block, text, args) for block in line["content"]]
        return changed

    def _decode(self, text: str) -> str:
        return _NAME.sub(lambda match: self._value(match, str), text)

    def _decode_json(self, text: str) -> str:
        return _NAME.sub(
            lambda match: self._value(match, lambda value: json.dumps(value, ensure_ascii=False)[1:-1]), text
        )

    def _value(self, match: re.Match[str], escape: Callable[[str], str]) -> str:
        literal, name = match.groups()
        if literal:
            return "{{" + literal.removeprefix("lit:") + name + "}}"
        value = self._values.get(name)
        return match[0] if value is None else escape(value)


class _Encoder:
    """Replaces texts by their placeholders, and texts that look like a placeholder by their `lit:` form."""

    def __init__(self, values: Mapping[str, Sequence[str]], forms: Callable[[str], set[str]]) -> None:
        self._names: dict[str, str] = {}
        self._logs: dict[str, str] = {}
        for name, texts in values.items():
            names = self._logs if _LOG_NAME.fullmatch(name) else self._names
            for form in set().union(*map(forms, texts)):
                names.setdefault(form, name)
        directories = [re.escape(needle) for needle in sorted(self._names, key=len, reverse=True)]  # cwd may be in home
        alternatives = [_PLACEHOLDER]
        if directories:
            alternatives.append(f"{_BEFORE}(?:{'|'.join(directories)}){_AFTER}")
        self._pattern = re.compile("|".join(alternatives))

    def encode(self, text: str) -> str:
        parts, position = [], 0
        for start, end, placeholder in self._find(text):
            parts += [text[position:start], placeholder]
            position = end
        return "".join([*parts, text[position:]]) if parts else text

    def encode_pieces(self, pieces: Sequence[str]) -> list[str]:
        whole = "".join(pieces)
        borders = [0]
        for piece in pieces:
            borders.append(borders[-1] + len(piece))
        encoded: list[list[str]] = [[] for _ in pieces]
        position, index = 0, 0

        def copy_until(end: int) -> None:
            nonlocal position, index
            while position < end:
                while borders[index + 1] <= position:
                    index += 1
                stop = min(end, borders[index + 1])
                encoded[index].append(whole[position:stop])
                position = stop

        for start, end, placeholder in self._find(whole):
            copy_until(start)
            while borders[index + 1] <= position:
                index += 1
            encoded[index].append(placeholder)
            position = end
        copy_until(len(whole))
        return ["".join(parts) for parts in encoded]

    def _find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The places to replace: start, end and placeholder, in order. A log wins over a directory around it."""
        logs = deque(self._logs_in(text)) if self._logs else deque()
        position = 0
        for match in self._pattern.finditer(text):
            while logs and logs[0][0] <= match.start():
                yield (log := logs.popleft())
                position = log[1]
            if position <= match.start() and not (logs and logs[0][0] < match.end()):
                yield match.start(), match.end(), self._placeholder(match[0])
        yield from logs

    def _logs_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The known logs. Looks back from the end of each name to possible beginnings of its path: a search for all
        paths would take time in proportion to their number, their length and that of the text."""
        position = 0
        for match in _LOG.finditer(text):
            lowest, start, known = max(position, match.end() - PATH_LENGTH), match.end(), None
            for _ in range(PATH_PARTS):
                if (start := text.rfind("/", lowest, start)) < 0:
                    break
                if (name := self._logs.get(text[start : match.end()])) is not None:
                    known = (start, match.end(), "{{" + name + "}}")
            if known is not None:
                yield known
            position = match.end()

    def _placeholder(self, text: str) -> str:
        name = self._names.get(text)
        return "{{lit:" + text[2:] if name is None else "{{" + name + "}}"


def _stream(line: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """The type and the call id of the text that the line is a piece of; None if it is no piece."""
    return (line["type"], line.get("call_id")) if "delta" in line else None


def _encode_deltas(lines: Sequence[Mapping[str, Any]], encoder: _Encoder) -> Iterator[Json]:
    """Encodes the pieces of one text. A placeholder that replaces text across pieces goes into the first of them."""
    pieces = encoder.encode_pieces([line["delta"] for line in lines])
    return ({**line, "delta": piece} for line, piece in zip(lines, pieces, strict=True) if piece)


def _reply_block(block: Mapping[str, Any], text: Callable[[str], str], args: Callable[[str], str]) -> Json:
    changed = dict(block)
    if "text" in block:
        changed["text"] = text(block["text"])
    if "args" in block:
        changed["args"] = args(block["args"])
    return changed


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        _replace_times(_unmark(block)) if block.get("type") == "tool_result" else _unmark(block) for block in content
    ]


def _replace_times(result: Json) -> Json:
    if not isinstance(content := result.get("content"), list):
        return result
    return {**result, "content": [_replace(_unmark(part), _TOOK, "Took {{time}}") for part in content]}


def _replace_date(block: Json) -> Json:
    return _replace(block, _DATE, r"\1{{date}}")


def _replace(block: Json, pattern: re.Pattern[str], by: str) -> Json:
    return {**block, "text": pattern.sub(by, block["text"])} if "text" in block else block


def _unmark(block: Json) -> Json:
    """The block without its own cache marker. A `cache_control` deeper inside is part of an argument or a schema."""
    return {key: value for key, value in block.items() if key != "cache_control"}


def _logs(text: str) -> Iterator[str]:
    """The paths of the log files in a text. They do not overlap, so that the work, and all paths together, are not
    longer than the text."""
    read = 0
    for match in _LOG.finditer(text):
        start = match.start()
        while start > read and text[start - 1] not in _NOT_IN_A_PATH:
            start -= 1
        read = match.end()
        yield text[text.index("/", start) : read]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
