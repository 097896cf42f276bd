"""Finds the address of requests and their credential in flags, a key file, the environment, `models.json` and
`auth.json`, in this order. Pure.

As the official SDK does: the key comes before the token, both are sent as `Authorization: Bearer` (by SDKs before 2.12
the key as `x-api-key`), and a flag comes before a variable. Differences: an empty variable counts as unset, and no
profile or other file of the SDK is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from agent.model.presets import ANTHROPIC, Preset
from wire.text import printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IDLE_VARIABLE = "ZOT_MODEL_IDLE_TIMEOUT"
IDLE_TIMEOUT_S = 300.0
"""Seconds without any data from the server, even a ping, after which a request fails."""
IDLE_TIMEOUTS_S = (0.1, 86_400.0)
"""The shortest and the longest idle timeout that may be set, in seconds."""
KEY_FLAG, URL_FLAG = "--api-key", "--base-url"
HIDDEN = "***"
"""Replaces the user name and the password of an address."""
MODELS_FILE, AUTH_FILE = "models.json", "auth.json"
"""The names of the user's files as sources."""


_HOST = r"(\[[^]]*\]|[^:]*)(:\d*)?"
"""A host and its port, as in an address without credentials."""


class AccessError(ValueError):
    """The text names the source of the fault, and never has the credential."""


class CredentialKind(Enum):
    KEY = "key"
    TOKEN = "token"  # noqa: S105  a word
    NONE = "none"


@dataclass(frozen=True)
class Endpoint:
    """The address of the requests."""

    url: str = field(default=ANTHROPIC.url, repr=False)
    source: str = ""
    """The flag, variable or file with the address; "" for the provider's own address."""

    @property
    def is_default(self) -> bool:
        return not self.source

    @property
    def shown(self) -> str:
        """The address without user name, password, query and fragment."""
        scheme, _, rest = self.url.partition("://")
        authority, slash, path = rest.partition("/")
        path = path.partition("?")[0].partition("#")[0].rstrip("/")
        authority = authority.rpartition("@")[2].partition("?")[0].partition("#")[0]
        return printable(f"{scheme}://{authority}{slash if path else ''}{path}")


@dataclass(frozen=True)
class Credential:
    kind: CredentialKind = CredentialKind.NONE
    value: str = field(default="", repr=False)
    source: str = ""
    """The flag, file or variable with the credential; "" if there is none."""
    unused: tuple[str, ...] = ()
    """Other sources with a credential, which are not used."""


@dataclass(frozen=True)
class Access:
    endpoint: Endpoint = field(default_factory=Endpoint)
    credential: Credential = field(default_factory=Credential)
    idle_timeout_s: float = IDLE_TIMEOUT_S
    provider: Preset = ANTHROPIC

    @property
    def is_missing(self) -> bool:
        """Whether no request can succeed: the provider's own address needs a credential, and there is none."""
        has_none = self.credential.kind is CredentialKind.NONE
        return has_none and self.endpoint.is_default and self.provider.needs_key


def find_access(
    environ: Mapping[str, str],
    *,
    provider: Preset = ANTHROPIC,
    base_url: str | None = None,
    users_url: str | None = None,
    api_key: str | None = None,
    file_key: str | None = None,
    file_name: str = "",
    stored_key: str | None = None,
    sends_credential: bool = True,
) -> Access:
    """The endpoint and the credential from the flags, the key `file_key` of the file `file_name`, the variables, the
    address `users_url` of `models.json` and the key `stored_key` of `auth.json`. A provider's key goes to this provider
    only. Raises `AccessError` for an invalid address, for a credential that no HTTP header can carry, and for an
    invalid idle timeout."""
    candidates = [
        (CredentialKind.KEY, KEY_FLAG, api_key),
        (CredentialKind.KEY, file_name, file_key),
        (CredentialKind.KEY, provider.key_variable, environ.get(provider.key_variable)),
        (CredentialKind.TOKEN, provider.token_variable, environ.get(provider.token_variable)),
        (CredentialKind.KEY, AUTH_FILE, stored_key),
    ]
    return Access(
        _endpoint(environ, provider, base_url, users_url),
        _credential(candidates) if sends_credential else Credential(),
        _idle_timeout_s(environ),
        provider,
    )


def _idle_timeout_s(environ: Mapping[str, str]) -> float:
    text = environ.get(IDLE_VARIABLE) or ""
    if not text:
        return IDLE_TIMEOUT_S
    shortest, longest = IDLE_TIMEOUTS_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not shortest <= seconds <= longest:
        shown = valid_text(text)[:80]
        raise AccessError(f"{IDLE_VARIABLE} {shown!r}: must be seconds, from {shortest:g} to {longest:g}")
    return seconds


def _endpoint(environ: Mapping[str, str], provider: Preset, base_url: str | None, users_url: str | None) -> Endpoint:
    variable = provider.url_variable
    given = ((URL_FLAG, base_url), (variable, environ.get(variable) or None), (MODELS_FILE, users_url))
    for source, url in given:
        if url is not None:
            endpoint = Endpoint(url, source)
            check_endpoint(endpoint)
            return endpoint
    return Endpoint(provider.url)


def hide_credentials(url: str) -> str:
    """The address for a file: with `HIDDEN` in place of a user name and password."""
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" not in authority and not re.fullmatch(_HOST, authority):
        authority = rest  # a password with a / in it
    given, at, _ = authority.rpartition("@")
    return f"{scheme}{mark}{HIDDEN}@{rest[len(given) + 1 :]}" if at else url


def lacks_credentials(url: str) -> bool:
    """Whether `hide_credentials` has hidden a user name and password in this address."""
    return f"{HIDDEN}@" in url and hide_credentials(url) == url


def check_endpoint(endpoint: Endpoint) -> None:
    """Raises `AccessError` for an invalid address."""
    from urllib.parse import urlsplit  # takes 3 ms to import, and most runs do not need it

    url, name = endpoint.url, f"{endpoint.source} {endpoint.shown}"
    if url != valid_text(url):
        raise AccessError(f"{endpoint.source} {valid_text(url)!r}: not valid UTF-8")
    if not url.startswith(("http://", "https://")):
        raise AccessError(f"{endpoint.source} {printable(url.rpartition('@')[2])}: must start with http:// or https://")
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # its text may have the password, also behind a / in it
        scheme, _, rest = url.partition("://")
        shown = Endpoint(f"{scheme}://{rest.rpartition('@')[2]}").shown
        raise AccessError(f"{endpoint.source} {shown}: its host or its port cannot be read") from None
    if not usable:
        raise AccessError(f"{name}: names no host to connect to")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise AccessError(f"{name}: has a space or a control character in it")


def _credential(candidates: Sequence[tuple[CredentialKind, str, str | None]]) -> Credential:
    given = [(kind, source, value) for kind, source, value in candidates if value]
    if not given:
        return Credential()
    kind, source, value = given[0]
    if not (value.isascii() and value.isprintable()):
        # The value is not shown, not even in part.
        raise AccessError(f"the {kind.value} from {source} has characters that no HTTP header can carry")
    return Credential(kind, value, source, tuple(other for _, other, _ in given[1:]))
