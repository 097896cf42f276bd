"""Makes the temporary folder of a benchmark, and the programs and extensions that the benchmark starts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.discovery.environment import child_environment
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.loop.loop import Loop
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parent.parent
CHILDREN = ROOT / "tests" / "children"
PROGRAMS = Path(__file__).parent / "programs"
SETTLE_S = 30.0
SESSION = "benchmark"
"""The id of the session that extensions are told."""


class Workshop:
    """The temporary folder, as a context manager. The end removes the folder."""

    def __enter__(self) -> Workshop:
        self.folder = Path(tempfile.mkdtemp(prefix="zot-bench-"))
        return self

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def has_compiler(self) -> bool:
        return shutil.which("cc") is not None

    def compiled(self, source: Path) -> str:
        """Compiles a C program once, and returns the path of the program."""
        program = self.folder / source.stem
        if not program.exists():
            subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        return str(program)

    def python(self, source: Path, *args: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(source), *args]

    def extension(
        self, name: str, argv: Sequence[str], position: int = 0, *, independent: bool = False, **fields: Any
    ) -> FoundExtension:
        """`fields` are further ones of its manifest."""
        manifest = Manifest(name=name, exec=argv[0], args=tuple(argv[1:]), independent=independent, **fields)
        return FoundExtension(self.folder, manifest, Scope.EXPLICIT, position)

    def bystanders(self, count: int) -> list[FoundExtension]:
        """Makes extensions in sh that guard nothing and send nothing after `ready`."""
        script = str(PROGRAMS / "bystander.sh")
        return [self.extension(f"bystander{i}", ["/bin/sh", script, f"bystander{i}"], 1000 + i) for i in range(count)]

    def started(self, found: Sequence[FoundExtension], env: Mapping[str, str] | None = None) -> Supervisor:
        """Returns a supervisor on a loop of its own, with all these extensions ready, which have this environment or
        the host's. Raises `RuntimeError` if they are not ready within `SETTLE_S` seconds."""
        host = HostInfo("0", "replay", "none", str(self.folder), SESSION)
        supervisor = Supervisor(Loop(), host=host, logs=self.folder / "logs")
        supervisor.start(found, child_environment() if env is None else env)
        supervisor.settle(supervisor.loop.clock() + SETTLE_S)
        late = [extension.name for extension in supervisor.extensions if not extension.was_ready]
        if late:
            stop(supervisor)
            raise RuntimeError(f"not ready within {SETTLE_S:g} s: {', '.join(late)}")
        return supervisor


def stop(supervisor: Supervisor) -> None:
    supervisor.stop()
    supervisor.loop.close()


def has_node() -> bool:
    return shutil.which("node") is not None
