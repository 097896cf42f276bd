"""The clients that docs/rpc.md shows for the socket get their answer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.rpc_listener import listening

GUIDE = (Path(__file__).parents[3] / "docs" / "rpc.md").read_text()
SECTION = GUIDE[GUIDE.index("## On a socket") : GUIDE.index("### No HTTP")]
SHELL = re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
(PYTHON,) = re.findall(r"^```python\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
CLIENTS = {
    "socat": ["/bin/sh", "-c", SHELL[1]],
    "python": [sys.executable, "-c", PYTHON],
}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_clients_of_the_guide(zot, server, client):
    assert SHELL[0].startswith("zot rpc --listen $XDG_RUNTIME_DIR/agent.sock")
    with listening(zot, server, path=zot.folder / "agent.sock") as at:
        env = {**os.environ, "XDG_RUNTIME_DIR": str(zot.folder)}
        ran = subprocess.run(
            CLIENTS[client], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=zot.cwd
        )
        at.stop()
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "answer to what does this proje", "")
