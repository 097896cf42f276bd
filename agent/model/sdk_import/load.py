"""Loads the anthropic SDK: without the parts that are left out, or whole."""

from __future__ import annotations

import os
import sys
from typing import Any, cast

from agent.model.sdk_import.stand_ins import StandInFinder, StandInTouchedError, touched

SWITCH = "ZOT_FULL_SDK"
"""The variable that makes the worker load the whole SDK."""


def load_sdk() -> str:
    """Imports the SDK with stand-ins and rehearses a request. If anything goes wrong, imports the whole SDK, and
    returns why; otherwise returns "". Does nothing if the SDK is in memory already."""
    if "anthropic" in sys.modules:
        return ""
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        _import()
        return f"{SWITCH} is set"
    sys.meta_path.insert(0, cast("Any", StandInFinder()))
    try:
        _import()
        from agent.model.sdk_import.rehearsal import rehearse

        rehearse()
        if touched:
            raise StandInTouchedError(f"the SDK uses {touched[0]}, which is left out")
    except Exception as error:
        load_whole_sdk()
        return f"{type(error).__name__}: {error}"
    return ""


def has_stand_ins() -> bool:
    return any(isinstance(finder, StandInFinder) for finder in sys.meta_path)


def load_whole_sdk() -> None:
    """Replaces an SDK with stand-ins by the whole one. Objects made with the old one must be made again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, StandInFinder)]
    for name in [name for name in sys.modules if name == "anthropic" or name.startswith("anthropic.")]:
        del sys.modules[name]
    touched.clear()
    _import()


def _import() -> None:
    import anthropic
    import anthropic.resources.messages  # noqa: F401  the first request would import it
