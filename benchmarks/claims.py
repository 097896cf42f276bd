"""Collects the claims of a benchmark, each with the measured value and whether the claim holds."""

from __future__ import annotations

from benchmarks.report import Table


class Claims:
    def __init__(self) -> None:
        self.table = Table("claims", ("claim", "found", "holds"))
        self.failed = 0

    def add(self, claim: str, found: str, holds: bool | None) -> None:
        """Adds a line. `holds` is None for a value without a target."""
        self.failed += holds is False
        self.table.add(claim, found, "not judged" if holds is None else "PASS" if holds else "FAIL")

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0
