"""Ways to open the screen, and ways in which it does not open."""

from __future__ import annotations

import pytest

from tests.support.host_process import hosting
from tests.support.extension_folder import EXAMPLES
from tests.support.project_extension import *  # noqa: F403
