"""`HostInfo`: the host that runs this extension."""

from __future__ import annotations

from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


class HostInfo(Value):
    """The facts in the host's `hello_ack`. Missing fields are empty."""

    __slots__ = (
        "_data_dir",
        "_extension_dir",
        "capabilities",
        "cwd",
        "features",
        "model",
        "protocol_version",
        "provider",
        "zot_version",
    )

    def __init__(self, frame: dict[str, Any]) -> None:
        def text(field: str) -> str:
            value = frame.get(field)
            return value if isinstance(value, str) else ""

        def names(field: str) -> frozenset[str]:
            value = frame.get(field)
            return (
                frozenset(name for name in value if isinstance(name, str)) if isinstance(value, list) else frozenset()
            )

        version = frame.get("protocol_version")
        self.protocol_version = version if isinstance(version, int) else 1
        self.zot_version = text("zot_version")
        self.provider = text("provider")
        self.model = text("model")
        self.cwd = text("cwd")
        """Folder of the project that the agent works in."""
        self.features = names("features")
        """Features of the host beyond zot's protocol 1; empty for zot itself."""
        self.capabilities = names("capabilities")
        """`call_tool` if extensions may call tools."""
        self._extension_dir = text("extension_dir")
        self._data_dir = text("data_dir")

    @property
    def extension_dir(self) -> Path:
        """Folder with the extension's manifest; the current folder if the host named none."""
        from pathlib import Path  # slow to import, and mostly not needed

        return Path(self._extension_dir or ".").absolute()

    @property
    def data_dir(self) -> Path:
        """Folder for the extension's state. It exists, and an update of the extension does not change it. With zot
        itself, it is `extension_dir`."""
        from pathlib import Path

        return Path(self._data_dir or self._extension_dir or ".").absolute()
