"""Why an extension did not start, and what to do about it: a table of rules. Pure.

A rule looks at the facts and returns its advice, or None if it has nothing to say. The first rule with advice counts,
so rules that see more come before those that see less. If no rule fits there is no advice: a wrong one costs more time
than none.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cli.ext.author.no_start_rules import NO_START, carriage_return, rebuild
from cli.ext.author.stderr_advice import advice_for
from supervisor.discovery.kind import COPILOT
from wire.dialects.table import ZOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.ext.author.start_facts import Advice, Facts

_IF_MCP = 'for an MCP server write "dialect": "mcp" into extension.json'
_JOIN = "let the top level of extension.mjs call joinSession(), and await it"
_DOWNLOADERS = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx", "uv"})


class Diagnosis(NamedTuple):
    """What is wrong and what to do."""

    rule: str
    """The rule that found it: a short name for programs."""
    message: str
    """What is wrong; empty if the failure itself says it."""
    advice: str


def why_no_start(facts: Facts) -> Diagnosis | None:
    """Why the program could not be started."""
    return _first(NO_START, facts)


def why_no_hello(facts: Facts) -> Diagnosis | None:
    """Why a program that was started said no hello."""
    return _first(_NO_HELLO, facts)


def will_not_travel(facts: Facts) -> Diagnosis | None:
    """Why a program that starts here will not start elsewhere."""
    program = facts.program
    if not (program.is_zots_python and program.foreign_imports):
        return None
    names = ", ".join(program.foreign_imports)
    if program.foreign_imports == ("zotext",):
        advice = f"copy the folder zotext beside {program.script}: it needs nothing else"
    else:
        advice = facts.there("python3 -m venv .venv && .venv/bin/pip install …") + ", and exec ./.venv/bin/python"
    message = f"its Python is the one of zot's own environment, which has {names} for it: it will not start elsewhere"
    return Diagnosis("zots_python", message, advice)


def _first(rules: Sequence[tuple[str, Callable[[Facts], Advice | None]]], facts: Facts) -> Diagnosis | None:
    for name, rule in rules:
        if (found := rule(facts)) is not None:
            return Diagnosis(name, *found)
    return None


# --- programs that said no hello ----------------------------------------------------------------------------


def _no_script(facts: Facts) -> Advice | None:
    program = facts.program
    if not program.script or program.has_script or program.script == program.exec:
        return None
    message = f"args name {program.script}, which is not in the folder"
    target = next((part for part in ("dist", "build", "out") if program.script.lstrip("./").startswith(f"{part}/")), "")
    if target and "package.json" in program.files:
        return (message, facts.there("npm install && npm run build"))
    near = program.like(program.script)
    return (message, f"did you mean {' or '.join(map(repr, near))}?" if near else "correct args in extension.json")


def _by_stderr(facts: Facts) -> Advice | None:
    return advice_for(facts.result.stderr, facts.program, facts.there)


def _forgot_run(facts: Facts) -> Advice | None:
    program = facts.program
    if facts.code != 0 or not facts.uses_sdk or facts.result.lines:
        return None
    if program.language == "javascript":
        return None if re.search(r"\.run\(", program.source) else ("", "did you forget ext.run() at the end?")
    if program.language != "python":
        return None
    name, caller = _run_call(program.source)
    if caller is None:
        return ("", f"did you forget {name}.run() at the end of {program.script}?")
    if caller:
        return ("", f"{caller}(), which has the {name}.run(), is never called: did you forget {caller}() at the end?")
    return None


def _run_call(source: str) -> tuple[str, str | None]:
    """The name of the extension in a Python source, and the function in which its `run` is called: "" if it is called
    at the top level or by a function that is called, None if it is not called."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "ext", ""
    name = "ext"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            called = node.value.func
            if (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "Extension":
                name = node.targets[0].id
    called_names = {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    caller: str | None = None
    for top in tree.body:
        if not _calls_run(top):
            continue
        if not isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef) or top.name in called_names:
            return name, ""
        caller = top.name
    return name, caller


def _calls_run(top: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "serve")
        for node in ast.walk(top)
    )


def _other_protocol(facts: Facts) -> Advice | None:
    first = facts.result.first_junk
    if facts.dialect != ZOT:
        if re.match(r'\{\s*"type":\s*"hello"', first):
            return ("it speaks zot's own protocol", 'leave "dialect" out of extension.json')
        return None
    if first.lower().startswith("content-length"):
        return (
            "it speaks with Content-Length headers, as language servers do",
            "zot's protocol is one JSON object per line: zot ext schema hello",
        )
    if '"jsonrpc"' in first:
        return ("it speaks JSON-RPC, as MCP servers do", _IF_MCP)
    return None


def _prints(facts: Facts) -> Advice | None:
    first = facts.result.first_junk
    if not first or facts.has_crashed:
        return None
    if facts.dialect != ZOT:
        message = "" if first in facts.result.failure else f"it printed what is no message of its protocol: {first}"
        return (message, "see whether it needs an argument, or logs to stdout: that is for messages only")
    return (
        f"it printed what is no frame: {first}",
        "print to stderr: stdout is for frames only, and hello is the first of them",
    )


def _late_hello(facts: Facts) -> Advice | None:
    """It had said hello, but nobody saw it before it was stopped."""
    if facts.code is not None or facts.result.hello_name is None or facts.dialect != ZOT:
        return None
    advice = "flush stdout after each line"
    if facts.program.language == "python":
        advice += ": print(…, flush=True), or -u before the script in args"
    return ("its hello came only when it was stopped", f"{advice}; if it is slow to start, raise timeouts.hello")


def _needs_input(facts: Facts) -> Advice | None:
    """zot speaks only after the hello."""
    if facts.code is not None or facts.uses_sdk or facts.result.lines:
        return None
    program = facts.program
    if Path(program.exec).name in _DOWNLOADERS:
        command = shlex.join((program.exec, *program.args))
        advice = f"run it once by hand, so that it is there ({command}), or give it more time in timeouts.hello"
        return ("it may still be downloading", advice)
    if program.language == "go" and program.exec == "go":
        advice = facts.there("go build -o main .") + ', and "exec": "./main"'
        return ("go run compiles before each start", advice)
    if facts.dialect == COPILOT:
        return ("", f"{_JOIN}, before it waits for anything; if it is only slow, raise timeouts.hello")
    if facts.dialect != ZOT:
        return (
            "",
            "see whether it serves on stdio, and what it needs for that; if it is only slow, raise timeouts.hello",
        )
    return ("", f"say hello as the first line on stdout, without being asked, and flush it; {_IF_MCP}")


def _ended_early(facts: Facts) -> Advice | None:
    if facts.code != 0 or facts.result.lines:
        return None
    if facts.uses_sdk:
        return None
    if facts.dialect == COPILOT:
        return ("", _JOIN)
    if facts.dialect != ZOT:
        return ("", "see whether it serves on stdio, and what arguments it needs for that")
    return ("", "say hello first, then read stdin until it ends; zot ext new makes a small one that does")


def _wrong_hello(facts: Facts) -> Advice | None:
    if facts.dialect != ZOT or not facts.result.lines or facts.has_crashed:
        return None
    return ("", 'the first line must be {"type":"hello","name":"…"}: zot ext schema hello has all its fields')


def _killed(facts: Facts) -> Advice | None:
    if facts.code == -9:
        limits = facts.result.found.manifest.limits
        said = "" if limits.rss_mb is None else f" (limits.rss_mb is {limits.rss_mb:g})"
        return ("something killed it", f"see whether memory ran out{said}: dmesg, or the container's limit")
    if facts.code == -4:
        return ("it uses instructions that this processor does not have", rebuild(facts))
    return None


_NO_HELLO: tuple[tuple[str, Callable[[Facts], Advice | None]], ...] = (
    ("carriage_return", carriage_return),
    ("no_script", _no_script),
    ("stderr", _by_stderr),
    ("killed", _killed),
    ("forgot_run", _forgot_run),
    ("other_protocol", _other_protocol),
    ("prints", _prints),
    ("late_hello", _late_hello),
    ("wrong_hello", _wrong_hello),
    ("ended_early", _ended_early),
    ("silent", _needs_input),
)
