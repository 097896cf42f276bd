"""The program judges each shell command of its agent: by rules, or else the person in front of it does.

    ANTHROPIC_API_KEY=… python guard.py "How many lines of Python are in this folder?"

The guard lives in this process, and the agent waits for its verdict: allow, refuse, or none, if it is late or broken.
`on_failure` says how none counts.
"""

import re
import select
import sys

from pyzot import Error, ExtensionNotice, ProgramExtension, Runtime, TextDelta
from zotext import Allow, Block, Extension, ToolCall, allow, block

HARMLESS = re.compile(r"(ls|cat|wc|head|git (status|diff|log))( [\w./*-]+)*")
FORBIDDEN = re.compile(r"\brm -\w*r|\bsudo\b|\bgit push\b")
PERSON_S = 60
"""Seconds to wait for a person."""
VERDICT_S = 70
"""Seconds after which the agent waits no longer for the guard."""

guard = Extension("ask-first")


@guard.intercept_tool_call(tools=["bash"])
def judge(call: ToolCall) -> Allow | Block:
    command = call.args["command"]
    if HARMLESS.fullmatch(command):
        return allow()
    if found := FORBIDDEN.search(command):
        return block(f"`{found[0]}` is not allowed here")
    print(f"\nMay it run `{command}`? [y/N] ", end="", flush=True)
    is_answered, _, _ = select.select([sys.stdin], [], [], PERSON_S)
    if not is_answered:
        return block(f"no answer within {PERSON_S} s")
    return allow() if sys.stdin.readline().strip().lower() in ("y", "yes") else block("the user does not want it")


def main(question: str) -> None:
    judged = ProgramExtension(guard, on_failure="deny", timeouts={"intercept": VERDICT_S})
    with Runtime(extensions=[judged], tools=["read", "bash"]) as zot:
        for event in zot.prompt(question):
            match event:
                case TextDelta(delta):
                    print(delta, end="", flush=True)
                case ExtensionNotice(event="blocked" | "no_verdict" as verdict, message=message):
                    print(f"\n[{verdict}: {message}]")
                case Error(message):
                    print(message)
        print()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or sys.exit(__doc__))
