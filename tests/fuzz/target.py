"""A kind of input, and what a run of inputs has found."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    Opener = Callable[[Path], AbstractContextManager[Callable[[bytes], None]]]
    """Gives the function that takes an input; its folder is empty, and removed after the run."""

CPU_CONSTANT_S = 0.2
"""Seconds of processor time that any input may take."""
CPU_PER_BYTE_S = 4e-6
"""Seconds of processor time for each byte of an input."""
GROWTH_LIMIT = 50 * 2**20
"""Bytes by which the process may grow over the whole run."""


class Target(NamedTuple):
    """One kind of input. `open` gives the function that takes an input; its folder is empty, and removed after the
    run."""

    name: str
    seeds: Callable[[], list[bytes]]
    open: Opener
    in_suite: int
    """Inputs in the suite: about a tenth of a second of processor time, and some more than the seeds."""
    share: float = 1.0
    """The part of the inputs of `make fuzz` that this target gets: less for those that are slow."""


class Failure(msgspec.Struct, frozen=True):
    """An input that fails."""

    target: str
    seed: int
    """Of the run, see `Mutator.input`."""
    number: int
    """Of the input."""
    kind: str
    """traceback, slow, growth, leak, crash or hang."""
    mark: str
    """The error and the place in the product that raised it: the same for failures with the same cause."""
    detail: str
    file: str = ""
    """The file with the input."""

    def __str__(self) -> str:
        replay = f"python -m tests.fuzz {self.target} --input {self.file}"
        said = f"{self.target}: {self.kind}: {self.mark} (seed {self.seed}, input {self.number})\n  {replay}"
        return said + "".join(f"\n  | {line}" for line in self.detail.splitlines()[-12:])


class Figures(msgspec.Struct, frozen=True):
    """The resources that a run has used."""

    inputs: int
    cpu_s: float
    growth: int
    """Bytes."""


def without_folder(take: Callable[[bytes], None]) -> Opener:
    """The `open` of a target whose function needs no folder and nothing to be closed."""
    return lambda _folder: nullcontext(take)


def with_file(name: str) -> Callable[[Callable[[Path], None]], Opener]:
    """Makes the `open` of a target of a function that reads a file with this name, whose content is the input."""

    def opened_by(read: Callable[[Path], None], folder: Path) -> AbstractContextManager[Callable[[bytes], None]]:
        file = folder / name

        def take(data: bytes) -> None:
            file.write_bytes(data)
            read(file)

        return nullcontext(take)

    return lambda read: partial(opened_by, read)


def cpu_limit_s(size: int) -> float:
    """The processor time that an input of so many bytes may take."""
    return CPU_CONSTANT_S + CPU_PER_BYTE_S * size
