"""Writes extensions in sh that guard one event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
LC_ALL=C
printf '{"type":"hello","name":"%s","version":"1.0.0"}\\n' NAME
echo '{"type":"subscribe","intercept":["EVENT"]}'
TOOL
echo '{"type":"ready"}'
while IFS= read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  more=
  case $line in
    '{"type":"event_intercept",'*)
      DO
      printf '{"type":"event_intercept_response","id":"%s"%s}\\n' "$id" "$more" ;;
    '{"type":"tool_call",'*)
      printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"live NAME"}]}\\n' "$id" ;;
    '{"type":"shutdown"}') echo '{"type":"shutdown_ack"}'; exit 0 ;;
  esac
done
"""


def guard(parent: Path, name: str, do: str = ":", *, event: str = "tool_call", tool: str = "", **manifest: Any) -> Path:
    """The folder of a guard that runs the shell code `do` for each event, then allows it with the further fields in
    `$more`. With `tool`, it has this tool, too."""
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(
        json.dumps({"name": name, "exec": "/bin/sh", "args": ["run.sh"], **manifest})
    )
    registers = f"""echo '{{"type":"register_tool","name":"{tool}","description":"","schema":{{"type":"object"}}}}'"""
    text = SCRIPT.replace("NAME", name).replace("EVENT", event).replace("DO", do)
    (folder / "run.sh").write_text(text.replace("TOOL", registers if tool else ":"))
    return folder


def modified(text: str) -> str:
    """Shell code that answers a `tool_result` with this text."""
    return f"""more=',"modified_result":{{"content":[{{"type":"text","text":"{text}"}}]}}'"""
