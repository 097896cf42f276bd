"""The flags of a batch as `batch.json` keeps them, so that the same batch can go on without its command line. The key,
and what of an address is secret, are not kept. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict, replace

from agent.batch.journal.errors import FolderError
from agent.batch.request import BatchRequest
from agent.batch.reserve import DEFAULT, RULES
from agent.batch.run.begin import decode_request, encode_request
from agent.model.access import hide_credentials, lacks_credentials
from wire.suggestions import not_one_of
from wire.text import printable

if TYPE_CHECKING:
    from pathlib import Path

    from agent.options import RunRequest

FLAGS = "flags"
"""Key of the flags in the settings of `batch.json`."""
_OWN = ("folder", "run", "redo")
"""Fields that are not flags of the batch as a whole, or are kept in another way."""


def flags_of(request: BatchRequest) -> dict[str, Any]:
    """As JSON can hold them; without those that have their default."""
    url = request.run.base_url and hide_credentials(request.run.base_url)
    run = msgspec.json.decode(encode_request(replace(request.run, api_key=None, base_url=url)))
    plain = BatchRequest(folder=request.folder, run=request.run)
    given = {name: value for name, value in asdict(request).items() if name not in _OWN}
    return {**{name: value for name, value in given.items() if value != getattr(plain, name)}, "run": run}


def request_of(settings: dict[str, Any], folder: Path) -> BatchRequest:
    """The request of the batch whose settings these are. Raises `FolderError`."""
    try:
        flags = dict(settings[FLAGS])
        if (rule := flags.get("reserve", DEFAULT)) not in RULES:
            raise FolderError(f"{folder / 'batch.json'}: its --reserve: {not_one_of(str(rule), RULES)}")
        run = decode_request(msgspec.Raw(msgspec.json.encode(flags.pop("run"))))
        return BatchRequest(**flags, folder=folder, run=run)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FolderError(
            f"{folder / 'batch.json'}: it has no flags to resume with: give them again, as in"
            f" zot batch {folder / 'tasks.jsonl'} -o {folder} --redo failed"
        ) from None


def check_address(run: RunRequest, folder: Path) -> None:
    """Raises `FolderError` if the address of the request is one from `batch.json` that has lost its password."""
    if run.base_url is not None and lacks_credentials(run.base_url):
        raise FolderError(
            f"{folder / 'batch.json'}: keeps the address {printable(run.base_url)} without its user name and password:"
            " give it again, with --base-url"
        )
