"""Reads JSON as editors let people write it: with comments, commas behind the last item, and a byte order mark. Pure.

What JSON does not have is replaced by as many spaces, so that every place in the text stays where it was.
"""

from __future__ import annotations

import re

from wire.lenient_json import MARK

_STRING = rb'"(?:[^"\\\n]|\\[^\n])*"?'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*(?s:.)*?(?:\*/|\Z)")
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])")
_SIGN = re.compile(rb"[^\r\n]")


def plain_json(text: bytes) -> bytes:
    """The text as JSON, if it was that otherwise. As long as `text` without its byte order mark."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text.removeprefix(MARK)))


def _blank(found: re.Match[bytes]) -> bytes:
    return found[0] if found[0].startswith(b'"') else _SIGN.sub(b" ", found[0])
