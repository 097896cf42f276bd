"""Advice to the user about a failed request: one sentence by HTTP status or connection fault. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.model import catalogue
from agent.model.access import AUTH_FILE, IDLE_VARIABLE, CredentialKind
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.model.access import Access


@dataclass(frozen=True)
class FailedRequest:
    """A failed request: the worker's `error` line, the model of the request, and the access."""

    line: Mapping[str, Any]
    model: str
    access: Access

    @property
    def status(self) -> int | None:
        return self.line.get("status")

    @property
    def message(self) -> str:
        return str(self.line.get("message") or "")

    @property
    def endpoint(self) -> str:
        return self.access.endpoint.shown

    @property
    def credential(self) -> str:
        """The credential and its source, in words."""
        credential = self.access.credential
        return f"the {credential.kind.value} from {credential.source}"

    @property
    def has_credential(self) -> bool:
        return self.access.credential.kind is not CredentialKind.NONE

    @property
    def account(self) -> str:
        return f"the account of {self.credential}" if self.has_credential else "you"


def advice(failed: FailedRequest) -> str:
    """A sentence for the user; "" if the message says enough."""
    if failed.line.get("kind") == "too_long" and failed.status != 413:
        return _too_long(failed)
    if failed.line.get("kind") == "overloaded":  # gateways use other statuses than 529, too
        return _overloaded(failed)
    if failed.status is not None:
        if _is_about_money(failed):
            return f"{failed.account} has no credit left at {failed.endpoint}: add some, or use another key"
        return _of_status(failed.status)(failed)
    by_kind: dict[str, Callable[[FailedRequest], str]] = {
        "connection": _connection,
        "dropped": lambda failed: f"the connection to {failed.endpoint} broke off in the middle; send the prompt again",
        "timeout": _timed_out,
        "authentication": _unauthorized,
        "rate_limit": _rate_limited,
        "server": _server_fault,
        "protocol": lambda failed: (
            f"see whether {failed.endpoint}{_named_by(failed)} is the base URL of a server that speaks the Messages API"
        ),
    }
    said = by_kind.get(str(failed.line.get("kind")))
    return said(failed) if said is not None else ""


def _timed_out(failed: FailedRequest) -> str:
    longer = f"; {IDLE_VARIABLE}=SECONDS waits longer" if "sent nothing" in failed.message else ""
    return f"see whether {failed.endpoint} is up, and try again{longer}"


def _of_status(status: int) -> Callable[[FailedRequest], str]:
    if 300 <= status < 400:
        return lambda _failed: ""  # the message has the address to use
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return _server_fault if status >= 500 else _bad_request


def _is_about_money(failed: FailedRequest) -> bool:
    message = failed.message.lower()
    return failed.status == 402 or (failed.status in (400, 403, 429) and "credit balance" in message)


def _bad_request(failed: FailedRequest) -> str:
    if "model" in failed.message.lower() and catalogue.find(failed.model) is None:
        return _model(failed)
    if "no connected db" in failed.message.lower():  # LiteLLM
        how = failed.access.provider.how_to_give_a_credential
        sent = f"{failed.credential} is not its master key" if failed.has_credential else "no key was sent"
        return f"a LiteLLM proxy without a database says so if {sent}: {how}"
    return (
        f"{failed.endpoint} refuses this request for {failed.model}, and would again: what you can change is --model,"
        " --reasoning, --tools and the extensions' tools"
    )


def _model(failed: FailedRequest, otherwise: str = "") -> str:
    provider = failed.access.provider.name
    known = [info.id for info in catalogue.known() if info.provider == provider]
    hint = "" if failed.model in known else did_you_mean(failed.model, known)
    return f"--model {failed.model}: {failed.endpoint} does not offer it{otherwise}" + (f"; {hint}" if hint else "")


def _unauthorized(failed: FailedRequest) -> str:
    if not failed.has_credential:
        how = failed.access.provider.how_to_give_a_credential
        return f"{failed.endpoint} wants a credential, and none was sent: {how}"
    credential = failed.access.credential
    others = credential.unused
    also = f"; {' and '.join(others)} was not used" if others else ""
    again = f"; {failed.access.provider.login_command} stores another one" if credential.source == AUTH_FILE else ""
    return (
        f"{failed.credential} was refused by {failed.endpoint}: see that it is complete, not revoked, and made for this"
        f" endpoint{again}{also}"
    )


def _forbidden(failed: FailedRequest) -> str:
    if not failed.has_credential:
        return _unauthorized(failed)
    return f"{failed.credential} is known to {failed.endpoint}, but may not use {failed.model}: ask who manages it"


def _not_found(failed: FailedRequest) -> str:
    url = failed.endpoint
    if url.endswith(("/v1", "/v1/messages")):
        return f"zot adds /v1/messages to {url}{_named_by(failed)}: leave the end of that address out"
    if failed.access.endpoint.is_default:
        return _model(failed)
    return _model(failed, f", or has no Messages API: see --model and the address{_named_by(failed)}")


def _too_long(failed: FailedRequest) -> str:
    return (
        f"the conversation is longer than {failed.model} can read at {failed.endpoint}: begin a new one, ask for less"
        " at a time, or use a --model with a larger window"
    )


def _too_large(failed: FailedRequest) -> str:
    return (
        f"the request is too large for {failed.endpoint} (Anthropic takes 32 MB): use smaller images and read shorter"
        " files"
    )


def _rate_limited(failed: FailedRequest) -> str:
    seconds = failed.line.get("retry_after_s")
    when = f"in {_duration(seconds)}" if seconds else "in a minute"
    return f"{failed.endpoint} limits {failed.account}: try again {when}, and run fewer at the same time"


def _overloaded(failed: FailedRequest) -> str:
    return f"{failed.endpoint} has too much to do, for everybody: try again in a few minutes, or use another --model"


def _server_fault(failed: FailedRequest) -> str:
    return f"the fault is at {failed.endpoint}, not in the request: try again in a few minutes"


def _try_again(failed: FailedRequest) -> str:
    return f"{failed.endpoint} could not finish in time: try again"


_BY_STATUS: Mapping[int, Callable[[FailedRequest], str]] = {
    401: _unauthorized,
    403: _forbidden,
    404: _not_found,
    408: _try_again,
    409: _try_again,
    413: _too_large,
    429: _rate_limited,
}


def _connection(failed: FailedRequest) -> str:
    endpoint, named = failed.endpoint, _named_by(failed)
    match failed.line.get("fault"):
        case "refused":
            return f"nothing listens at {endpoint}{named}: start the server, or correct the address"
        case "unknown_host":
            return (
                f"no host has the name in {endpoint}{named}: see its spelling, and whether this machine has a network"
            )
        case "tls":
            return (
                f"TLS failed with {endpoint}{named}: a server without TLS has an address with http://; for an authority"
                " of your own set SSL_CERT_FILE"
            )
    return f"see whether {endpoint}{named} can be reached from here; HTTPS_PROXY and NO_PROXY are obeyed"


def _named_by(failed: FailedRequest) -> str:
    source = failed.access.endpoint.source
    return f" (from {source})" if source else ""


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 else "1 s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
