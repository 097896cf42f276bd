"""Names of folders beside extensions that are none: in these new ones are made and old ones are unmade."""

from __future__ import annotations

import re

STAGING = re.compile(r"\..+\.[0-9a-f]{8}\.(?P<kind>new|old|gone)", re.DOTALL)


def is_staging(name: str) -> bool:
    """Whether a folder of this name is none of the extensions, but one of ours beside them."""
    return STAGING.fullmatch(name) is not None
