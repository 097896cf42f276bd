"""Answers requests from a cassette, in the recorded order. A request must equal the recorded one."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.cassette.errors import CassetteError, CassetteMismatch
from agent.cassette.placeholders import PlaceholderNames
from agent.cassette.reply_lines import problem_of_reply
from wire.lenient_json import is_deeper
from wire.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

Json = dict[str, Any]
if TYPE_CHECKING:
    Explain = Callable[[Json, Json], str]

VERSION = 1
SHOWN_DIFFERENCES = 5
REQUEST_DEPTH = 254
"""Maximum depth of a recorded request: deeper ones cannot be written."""
_DATE_AND_FOLDER = re.compile(r"\n\nCurrent date: \{\{date\}\}\nCurrent working directory: [^\n]*")


class CassettePlayer:
    """Plays the exchanges of one cassette, which `load` reads."""

    def __init__(
        self,
        path: Path,
        exchanges: Sequence[Json],
        *,
        cwd: str,
        home: str | None,
        places: Mapping[str, str] | None = None,
        explain: Explain | None = None,
    ) -> None:
        self._path = path
        self._exchanges = exchanges
        self._cwd = cwd
        self._home = home
        self._places = places
        self._explain = explain
        self._played = 0

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        cwd: str,
        home: str | None = None,
        places: Mapping[str, str] | None = None,
        explain: Explain | None = None,
    ) -> Self:
        """Reads and checks a whole cassette. `explain` gets a recorded request and a different one, and returns the
        cause and the remedy; "" if unknown. Raises CassetteError, which names the file and the line."""
        file = Path(path)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CassetteError(f"cannot read cassette {file}: {error.strerror}") from error
        return cls(file, _exchanges(file, data), cwd=cwd, home=home, places=places, explain=explain)

    @property
    def model(self) -> str | None:
        """The model of the first recorded request; None in a cassette without requests."""
        return self._exchanges[0]["request"].get("model") if self._exchanges else None

    @property
    def last_text(self) -> str:
        """The text of the last recorded reply, with the working folder of this run; "" without a text."""
        if not self._exchanges:
            return ""
        names = PlaceholderNames.of({}, cwd=self._cwd, home=self._home, places=self._places)
        blocks = names.played(self._exchanges[-1]["reply"])[-1].get("content") or ()
        return "\n".join(block["text"] for block in blocks if block.get("type") == "text")

    @property
    def remaining(self) -> int:
        """The number of recorded exchanges that are not yet played."""
        return len(self._exchanges) - self._played

    def next(self, params: Mapping[str, Any]) -> list[Json]:
        """The worker lines recorded for this request, without ids.

        Raises CassetteMismatch if another request was recorded here, and CassetteError at the end of the cassette. In
        both cases the position stays.
        """
        if not self.remaining:
            recorded = counted(len(self._exchanges), "exchange")
            raise CassetteError(f"cassette {self._path} ends after {recorded}, but the run continues; {self._advice}")
        names = PlaceholderNames.of(params, cwd=self._cwd, home=self._home, places=self._places)
        exchange = self._exchanges[self._played]
        self._compare(_comparison_form(exchange["request"]), _comparison_form(names.request(params)))
        self._played += 1
        self._on_played(names)
        return names.played(exchange["reply"])

    def _compare(self, recorded: Json, asked: Json) -> None:
        """Raises CassetteMismatch if the requests differ."""
        found = list(islice(differences(recorded, asked), SHOWN_DIFFERENCES + 1))
        if found:
            why = self._explain(recorded, asked) if self._explain is not None else ""
            raise CassetteMismatch(self._mismatch(why or self._advice, [str(difference) for difference in found]))

    def _on_played(self, names: PlaceholderNames) -> None:
        """Called when an exchange is played, before its reply is returned. Does nothing here."""

    @property
    def _advice(self) -> str:
        return f"record it again with --record {self._path}"

    def _mismatch(self, advice: str, shown: list[str]) -> str:
        number = self._played + 1  # the header is line 1
        if len(shown) > SHOWN_DIFFERENCES:
            shown[SHOWN_DIFFERENCES:] = ["and more"]
        head = f"the run differs from cassette {self._path}:{number + 1} at request {number} of {len(self._exchanges)}"
        return "\n".join([f"{head}; {advice}", *shown])


def _comparison_form(request: Json) -> Json:
    """The canonical request in the form for comparisons: its system prompt is one block that ends with the date and the
    folder, and names files by their paths in the working folder. Recordings of earlier versions have one block with the
    date before the texts of extensions, and the whole paths of such files."""
    system = request.get("system")
    if not isinstance(system, list) or not all(isinstance(block, dict) for block in system):
        return request
    text = "".join(str(block.get("text", "")) for block in system)
    if (found := _DATE_AND_FOLDER.search(text)) is not None:
        text = f"{(text[: found.start()] + text[found.end() :]).rstrip()}{found[0]}\n"
    return {**request, "system": [{"type": "text", "text": text.replace("{{cwd}}/", "")}]}


def _exchanges(file: Path, data: bytes) -> list[Json]:
    if not data:
        raise CassetteError(f"cassette {file} is empty")
    lines = data.split(b"\n")
    complete = lines[-1] == b""
    if complete:
        lines.pop()
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if number == len(lines) and not complete:
                reason = "the line is cut off, so the recording was interrupted"
            else:
                reason = f"not JSON ({error})"
            raise CassetteError(f"cassette {file}:{number}: {reason}") from error
        records.append(record)
    _check_header(file, records[0])
    for number, record in enumerate(records[1:], 2):
        if problem := _problem(record):
            raise CassetteError(f"cassette {file}:{number}: {problem}")
    return records[1:]


def _check_header(file: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("type") != "cassette":
        raise CassetteError(f'cassette {file}:1: not a cassette, the first line must be {{"type":"cassette",…}}')
    version = header.get("version")
    if version != VERSION:
        raise CassetteError(f"cassette {file}:1: version {version!r}; this program reads version {VERSION}")


def _problem(record: Any) -> str | None:
    if not isinstance(record, dict) or record.get("type") != "exchange":
        return 'not an exchange ({"type":"exchange",…})'
    request = record.get("request")
    if not isinstance(request, dict):
        return "the exchange has no `request` object"
    if is_deeper(request, REQUEST_DEPTH):
        return f"the request is nested deeper than {REQUEST_DEPTH} levels"
    if not isinstance(request.get("model", ""), str):
        return "request.model must be text"
    return problem_of_reply(record.get("reply"))


# --- differences of two requests ----------------------------------------------------------------------------


CONTEXT = 30
"""The characters shown before the first difference of two long texts; after it, twice the number."""


class _Absent:
    pass


ABSENT = _Absent()


class CassetteDifference(msgspec.Struct, frozen=True):
    """One difference between a recorded request and the request of this run. `ABSENT` stands for a missing value."""

    path: str
    """The place of the difference, such as `messages[2].content[0].text`; empty if the whole values differ."""
    recorded: Any
    asked: Any

    def __str__(self) -> str:
        recorded, asked = _show_difference(self.recorded, self.asked)
        return f"{self.path or 'the request'}\n  recorded: {recorded}\n  asked:    {asked}"


def differences(recorded: Any, asked: Any, path: str = "") -> Iterator[CassetteDifference]:
    """The innermost differences, in the order of the recorded value. Lists are compared index by index."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in dict.fromkeys([*recorded, *asked]):
            inner = f"{path}.{key}" if path else key
            yield from differences(recorded.get(key, ABSENT), asked.get(key, ABSENT), inner)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for index in range(max(len(recorded), len(asked))):
            left = recorded[index] if index < len(recorded) else ABSENT
            right = asked[index] if index < len(asked) else ABSENT
            yield from differences(left, right, f"{path}[{index}]")
    elif type(recorded) is not type(asked) or recorded != asked:
        yield CassetteDifference(path, recorded, asked)


def _show_difference(recorded: Any, asked: Any) -> tuple[str, str]:
    if not (isinstance(recorded, str) and isinstance(asked, str)):
        return _shorten(recorded), _shorten(asked)
    pairs = zip(recorded, asked, strict=False)
    same = next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(recorded), len(asked)))
    return _excerpt(recorded, same), _excerpt(asked, same)


def _shorten(value: Any) -> str:
    if value is ABSENT:
        return "(nothing)"
    return _excerpt(value, 0) if isinstance(value, str) else _cut(json.dumps(value, ensure_ascii=False))


def _excerpt(text: str, position: int) -> str:
    start = max(0, position - CONTEXT)
    end = position + 2 * CONTEXT
    quoted = json.dumps(text[start:end], ensure_ascii=False)
    return f"{'…' if start else ''}{quoted}{'…' if end < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= 3 * CONTEXT else text[: 3 * CONTEXT] + "…"
