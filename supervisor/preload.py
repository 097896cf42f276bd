"""Imports the modules that serving extensions needs and that nothing has imported yet.

A callback of the loop must import nothing: an import opens files, and it fails if no descriptor is left or the package
has been moved while the host runs. The imports stay out of the start of a run without extensions, which needs none.
"""

from __future__ import annotations


def preload() -> None:
    """Imports these modules, in some milliseconds the first time. Raises `OSError` and `ImportError`."""
    import difflib  # noqa: F401  (names that come close to a wrong one)

    from supervisor.discovery import trust_store  # noqa: F401  (reloads)
    from supervisor.extension.lazy import lazy_start  # noqa: F401  (a reload may make an extension lazy)
    from supervisor.monitoring import alarms  # noqa: F401  (figures)
    from supervisor.profile import profile_child  # noqa: F401  (an extension that hangs)
    from supervisor.traces import black_box_file  # noqa: F401  (one that falls)


def preload_dialects() -> None:
    """Imports the modules that the first extension of each dialect needs, which takes 20 ms. Only hosts do so in
    advance: in a run, the reload that finds the first extension imports them, or says why it cannot."""
    from supervisor.discovery.copilot import manifest  # noqa: F401
    from supervisor.discovery.mcp import entry_hash, servers  # noqa: F401
    from wire.dialects.table import MODULES, find_dialect

    for name in MODULES:
        find_dialect(name)
