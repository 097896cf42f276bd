"""What the diagnosis of a start looks at. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.harness.checkup import CheckupResult
    from supervisor.harness.program_facts import ProgramFacts


@dataclass(frozen=True)
class Facts:
    """What is known of an extension's program, and of how its start went."""

    program: ProgramFacts
    result: CheckupResult

    @property
    def code(self) -> int | None:
        return None if self.result.exit is None or self.ended_by_us else self.result.exit.code

    @property
    def dialect(self) -> str:
        return self.result.found.manifest.dialect

    @property
    def ended_by_us(self) -> bool:
        return "within" in self.result.failure

    @property
    def has_crashed(self) -> bool:
        """Whether it says on stderr why it ended; what it printed before is not the reason then."""
        return bool(self.code and self.result.last_words)

    @property
    def uses_sdk(self) -> bool:
        return re.search(r"\bzotext\b", self.program.source) is not None

    def there(self, command: str) -> str:
        """A shell command for the extension's folder."""
        return f"cd {shlex.quote(str(self.program.folder))} && {command}"


Advice = tuple[str, str]
"""The message, which may be empty, and the advice."""
