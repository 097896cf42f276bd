"""An extension for the commands of authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import extension
from tests.support.extension_scripts import PATIENT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """The folder of a well-behaved extension with the tool `echo`."""
    return extension(tmp_path, "echo", timeouts=PATIENT)
