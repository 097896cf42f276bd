"""Values of `wire.rpc.sessions` as the objects that `--json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from wire.rpc.sessions import Branch, Export, Found, Session


def fields(record: Session | Branch | Found | Export) -> dict[str, Any]:
    """The members by name, their values still as they are."""
    return {name: value for name in record.__struct_fields__ if (value := getattr(record, name)) is not msgspec.UNSET}
