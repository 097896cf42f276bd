"""Extensions that have their host call tools: the same one for Python and for Node.

A tool of it, or its command `go` with the same JSON, says the frames in `say`, in which "$" stands for the id of the
host's call, and answers with the list of the next `want` results of its own calls. The tool `heard` tells of all other
frames.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.support.host import source

if TYPE_CHECKING:
    from tests.support.host import Host

PYTHON = """
send(type="hello", name="x", capabilities=json.loads(sys.argv[1]))
for tool in json.loads(sys.argv[2]):
    send(type="register_tool", name=tool, schema={"type": "object"}, read_only=True)
send(type="register_command", name="go")
send(type="ready")
heard, got, asked, want = [], [], None, 0
def answer():
    global asked
    if asked is None or len(got) < want:
        return
    text = json.dumps(got[:want])
    del got[:want]
    if asked["type"] == "tool_call":
        result(asked, text)
    else:
        send(type="command_response", id=asked["id"], action="display", display=text)
    asked = None
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "heard":
        result(frame, json.dumps(heard))
    elif frame["type"] in ("tool_call", "command_invoked"):
        args = frame["args"] if frame["type"] == "tool_call" else json.loads(frame["args"])
        asked, want = frame, args.get("want", len(args["say"]))
        for said in args["say"]:
            send(**{name: frame["id"] if value == "$" else value for name, value in said.items()})
        if "die" in args:
            os._exit(args["die"])
        answer()
    elif frame["type"] == "tool_result":
        got.append(frame)
        answer()
    else:
        heard.append(frame)
"""
NODE = r"""
const send = (frame) => process.stdout.write(JSON.stringify(frame) + '\n');
const result = (frame, text) => send({ type: 'tool_result', id: frame.id, content: [{ type: 'text', text }] });
send({ type: 'hello', name: 'x', capabilities: JSON.parse(process.argv[2]) });
for (const name of JSON.parse(process.argv[3])) {
  send({ type: 'register_tool', name, schema: { type: 'object' }, read_only: true });
}
send({ type: 'register_command', name: 'go' });
send({ type: 'ready' });
const heard = [];
let got = [], asked = null, want = 0;
const answer = () => {
  if (asked === null || got.length < want) return;
  const text = JSON.stringify(got.slice(0, want));
  got = got.slice(want);
  if (asked.type === 'tool_call') result(asked, text);
  else send({ type: 'command_response', id: asked.id, action: 'display', display: text });
  asked = null;
};
require('readline').createInterface({ input: process.stdin, crlfDelay: Infinity }).on('line', (line) => {
  const frame = JSON.parse(line);
  if (frame.type === 'hello_ack') return;
  if (frame.type === 'shutdown') {
    process.stdout.write('{"type":"shutdown_ack"}\n', () => process.exit(0));
  } else if (frame.type === 'tool_call' && frame.name === 'heard') {
    result(frame, JSON.stringify(heard));
  } else if (frame.type === 'tool_call' || frame.type === 'command_invoked') {
    const args = frame.type === 'tool_call' ? frame.args : JSON.parse(frame.args);
    asked = frame;
    want = args.want === undefined ? args.say.length : args.want;
    for (const said of args.say) {
      send(Object.fromEntries(Object.entries(said).map(([name, value]) => [name, value === '$' ? frame.id : value])));
    }
    if (args.die) process.exit(args.die);
    answer();
  } else if (frame.type === 'tool_result') {
    got.push(frame);
    answer();
  } else {
    heard.push(frame);
  }
});
"""
CAPABILITIES = ("call_tool", "tool_cancel")


def argv_of(
    folder: Any, name: str, *tools: str, capabilities: tuple[str, ...] = CAPABILITIES, node: bool = False
) -> list[str]:
    """The command of a caller; writes its program into the folder."""
    script = folder / (f"{name}.js" if node else f"{name}.py")
    script.write_text(NODE if node else source(PYTHON))
    program = ["node"] if node else [sys.executable, "-I", "-S"]
    return [*program, str(script), json.dumps(capabilities), json.dumps(tools)]


def as_code(*tools: str) -> str:
    """The program of a caller with these tools, for Python and without parameters."""
    said = PYTHON.replace("json.loads(sys.argv[1])", repr(list(CAPABILITIES)))
    return said.replace("json.loads(sys.argv[2])", repr(list(tools)))


def add_caller(
    host: Host,
    name: str,
    *tools: str,
    capabilities: tuple[str, ...] = CAPABILITIES,
    node: bool = False,
    **manifest: Any,
) -> None:
    """Adds a caller with these tools to the host; with `node` the one for Node."""
    host._add(name, argv_of(host.folder, name, *tools, capabilities=capabilities, node=node), manifest)


def call(tool: str, call_id: str = "c", parent: str | None = "$", **args: Any) -> dict[str, Any]:
    """The frame of a call with this id for the call that the caller answers, or without a parent."""
    frame = {"type": "call_tool", "id": call_id, "name": tool, "args": args}
    return frame if parent is None else frame | {"parent_id": parent}


def text_of(result: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


def ask(host: Host, tool: str, *say: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The results that the caller with this tool gets of its calls."""
    return json.loads(host.text(tool, say=say, **more))


def ask_one(host: Host, tool: str, said: dict[str, Any]) -> tuple[str, bool]:
    (got,) = ask(host, tool, said)
    return text_of(got), bool(got.get("is_error"))
