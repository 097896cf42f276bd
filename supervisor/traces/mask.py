"""Masks secrets in frames that are written to a file: the values of variables, and texts in the forms of known tokens.

A secret may be written with JSON escapes, also several times, as in JSON text within a string. The usual spellings are
replaced in place. A frame that still has a secret after that, in any spelling, is left out. Pure.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "[masked]"
SHORTEST = 4
"""Minimum number of characters of a value that is masked: shorter ones are parts of common words."""
COMMON = frozenset({"true", "false", "null", "none", "test", "default", "enabled", "disabled"})
"""Values that are words of many frames."""
DEPTH = 3
"""Levels of JSON in strings at which values are replaced in place."""
# Each pattern takes time in proportion to the text, whatever an extension writes: no part of it is tried twice.
_NEXT = r"[A-Za-z0-9_-]"
_TOKEN = re.compile(
    rf"(?:sk|rk)-{_NEXT}{{16,}}|(?:sk|rk)_(?:live|test)_{_NEXT}{{12,}}|gh[pousr]_[A-Za-z0-9]{{16,}}"
    rf"|github_pat_[A-Za-z0-9_]{{16,}}|glpat-{_NEXT}{{16,}}|xox[a-z]-{_NEXT}{{8,}}|xapp-{_NEXT}{{8,}}|pypi-{_NEXT}{{16,}}"
    rf"|npm_[A-Za-z0-9]{{16,}}|hf_[A-Za-z0-9]{{16,}}|A[KS]IA[0-9A-Z]{{16}}|AIza{_NEXT}{{30,}}|eyJ{_NEXT}{{8,300}}\.{_NEXT}{{4,}}\.{_NEXT}*"
    r"|(?i:bearer)(?:\s|\\+[nrt]|%20)+[A-Za-z0-9._~+/=-]{8,}"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?!-----END )[^\"])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
)
_ESCAPE = re.compile(r'(?<!\\)\\+(?:u([0-9a-fA-F]{4})|(["/nrtbf]))')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class Masking:
    """Masks these values, and tokens of known forms."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({value for value in values if is_maskable(value)}, key=len, reverse=True)
        self.longest = max(map(len, self._values), default=0)
        """Number of characters of the longest value."""

    @cached_property
    def _spellings(self) -> list[str]:
        """Every spelling of the values that is replaced in place, the longest first."""
        found = set(self._values)
        for is_ascii in (True, False):
            texts = list(self._values)
            for _level in range(DEPTH):
                texts = [json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts]
                found.update(texts)
        return sorted(found, key=len, reverse=True)

    @cached_property
    def _plain_values(self) -> list[str]:
        return [plain for value in self._values if len(plain := without_escapes(value)) >= SHORTEST]

    def mask(self, text: str) -> str | None:
        """Returns the text without secrets, or None if one cannot be replaced in place."""
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        text = _TOKEN.sub(MASK, text)
        if "\\" not in text:
            return text
        plain = without_escapes(text)
        if _TOKEN.search(plain) or any(value in plain for value in self._plain_values):
            return None
        return text


def is_maskable(value: str) -> bool:
    """Whether a value is masked: it is no short text, short number or common word."""
    return len(value) >= (SHORTEST if not value.isdigit() else 6) and value.lower() not in COMMON


def without_escapes(text: str) -> str:
    """The characters of the text, for each escape of JSON its character, however often it is escaped."""
    joined = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2]), text)
    return joined.replace("\\", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
