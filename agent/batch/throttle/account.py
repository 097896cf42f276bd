"""Which requests share a rate limit: those to one address with one credential for one family of models. Pure."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILY = re.compile(r"claude-(?:(?P<name>[a-z]+)-(?P<major>\d{1,2})(?!\d)|\d{1,2}(?:-\d{1,2})?-[a-z]+)")
"""`claude-opus-4-1-20250805` and `claude-3-5-haiku-20241022`: Anthropic limits the models of one name and one major
version together, and those with the older names each by itself."""
_VERSION = re.compile(r"[-@](?:\d{8}|latest)$")


class Account(NamedTuple):
    """What a throttle is for."""

    base_url: str
    fingerprint: str
    """Of the credential: equal for equal ones, and says nothing of it. "" for none."""
    family: str


def account_of(configure: Mapping[str, Any], model: str) -> Account:
    """The account of a request for `model` by a worker with this `configure` line."""
    credential = configure.get("api_key") or configure.get("auth_token") or ""
    fingerprint = sha256(str(credential).encode("utf-8", "surrogatepass")).hexdigest()[:16] if credential else ""
    return Account(str(configure.get("base_url", "")).rstrip("/"), fingerprint, family(model))


def family(model: str) -> str:
    """The models that share a limit with this one: its name without minor version and date."""
    if found := _FAMILY.search(model):
        return found[0]
    return _VERSION.sub("", model)
