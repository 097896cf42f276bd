"""`zot rpc --listen` where the system has no template: `rpc_listener_program.py PATH BASE_URL MODEL`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agent.listener.listener import RpcListener
from agent.options import RunRequest

path, base_url, model = sys.argv[1:]
request = RunRequest(base_url=base_url, api_key="k", provider="anthropic", model=model, keep_session=False)
home = Path(os.environ["ZOT_HOME"])
listener = RpcListener(
    Path(path), request, cwd=os.getcwd(), home=home, version="1", token="", drain_s=30.0, has_template=False
)
sys.exit(0 if listener.run() else 130)
