"""How a handler says that it does not carry out a request."""

from __future__ import annotations


class RefusedError(Exception):
    """The request is not carried out; the text says why."""
