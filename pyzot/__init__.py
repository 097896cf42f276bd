"""zot for Python. This package is the public Python API; importing it imports nothing heavy.

The command `zot` starts in `pyzot.__main__`. Its programs cannot be imported from here: embed `zot` as a child process.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    """`__version__` of the installed distribution. Reading it takes some milliseconds, so it is read only on access."""
    if name == "__version__":
        from importlib.metadata import version

        return version("pyzot")
    raise AttributeError(f"module 'pyzot' has no attribute {name!r}")
