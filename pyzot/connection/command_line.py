"""The command line of the engine: the options of a runtime as the flags of a run. Does no I/O."""

from __future__ import annotations

import os
import sys

from ..flags import COUNT, CSV, DOLLARS, PLACE, PLACES, RUN, SCHEMA, SECONDS, SWITCH, TEXT, TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from ..flags import RunOptions

    class Options(RunOptions, total=False):
        """The options of a runtime: the flags of a run, by their names, and the key."""

        api_key: str
        """The key. The engine gets it in its environment: `ps` does not show it."""


ONE = {
    TEXT: ((str,), "a string"),
    PLACE: ((str, os.PathLike), "a path"),
    SWITCH: ((bool,), "True or False"),
    SECONDS: ((int, float), "a number of seconds"),
    COUNT: ((int,), "a whole number"),
    DOLLARS: ((int, float), "a number of dollars"),
}
"""Types of a single value by kind, and their names in messages."""
MANY = {TEXTS: TEXT, PLACES: PLACE, CSV: TEXT}
"""The kind of each item of a list. A single value is a list of one."""
PARAMETERS = ("env", "program", "on_event", "on_stderr")
"""Parameters of a runtime and of a batch that are not flags."""
API_KEY = "ANTHROPIC_API_KEY"
SAY_PROGRAM = "zot cannot be started by it; give the command of an installed zot, as program=['/usr/bin/zot']"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def command(options: Mapping[str, Any], program: Sequence[str] | None = None) -> list[str]:
    """Returns the engine's command: `program` (default: zot of this Python) with `rpc` and the flags. Options that are
    None are left out. Raises `TypeError` for an unknown option, and for a value of another type."""
    given = {"drain_timeout": 0.0, **options}
    if (key := given.pop("api_key", None)) is not None:
        value_text("api_key", TEXT, key)
    found = [*(default_program() if program is None else program), "rpc"]
    for name, value in given.items():
        if name not in RUN:
            raise no_such_option(name, {*RUN, "api_key", "extensions", "functions", *PARAMETERS})
        if value is not None:
            found += option_flags(name, RUN[name], value)
    return found


def no_such_option(name: str, known: Collection[str]) -> TypeError:
    """Returns the error for an unknown option, with the nearest known one, else with all of them."""
    from difflib import get_close_matches  # needed only for this error

    near = get_close_matches(name.lower(), known, 1)
    return TypeError(
        f"there is no option {name!r}; "
        + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}")
    )


def default_program() -> list[str]:
    """Returns the command that runs zot by the path of its entry module, which the child finds with any folder and any
    `PYTHONPATH`. Raises `OSError` if this Python cannot run it: it is embedded in another program, or its files are in
    a zip file."""
    if not sys.executable:
        raise OSError(f"sys.executable is {sys.executable!r}: {SAY_PROGRAM}")
    if not os.path.isfile(entry := os.path.join(PACKAGE, "__main__.py")):
        raise OSError(f"{entry} is not a file that Python could run: {SAY_PROGRAM}")
    return [sys.executable, entry]


def environment(options: Mapping[str, Any], env: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the engine's environment: that of this process, with `env` and the key. Variables that this Python
    ignores (`-E`, `-I`) are removed for the engine."""
    inherited = dict(os.environ)
    if sys.flags.ignore_environment:
        inherited.pop("PYTHONHOME", None)
        inherited.pop("PYTHONPATH", None)
    found = {**inherited, **(env or {})}
    if options.get("api_key") is not None:
        found[API_KEY] = str(options["api_key"])
    found.pop("ZOTCORE_RPC_TOKEN", None)  # the pipes are private
    return found


def option_flags(name: str, kind: int, value: Any) -> list[str]:
    """Returns the flags for an option with this value. Raises `TypeError` for a value of another type."""
    flag = f"--{name.strip('_').replace('_', '-')}"
    if kind in MANY:
        items = [value_text(name, MANY[kind], item) for item in _items(name, value)]
        return [f"{flag}={','.join(items)}"] if kind == CSV else [f"{flag}={item}" for item in items]
    text = _schema(name, value) if kind == SCHEMA else value_text(name, kind, value)
    if kind == SWITCH:
        return [flag] if value else []
    return [f"{flag}={text}"]


def _schema(name: str, value: Any) -> str:
    """Returns a path, or a JSON Schema as JSON."""
    if isinstance(value, (str, os.PathLike)):
        return value_text(name, PLACE, value)
    if not isinstance(value, dict):
        raise TypeError(f"{name} is a path or a dict, not {value!r}")
    import json

    return json.dumps(value)


def _items(name: str, value: Any) -> list[Any]:
    if isinstance(value, (str, os.PathLike)):
        return [value]
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} is a list, not {value!r}") from None


def value_text(name: str, kind: int, value: Any) -> str:
    """Returns the text of one value. Raises `TypeError` for a value of another type."""
    types, called = ONE[kind]
    is_fit = isinstance(value, types) and isinstance(value, bool) == (kind == SWITCH)
    if not is_fit or (kind in (SECONDS, DOLLARS) and not 0 <= value < float("inf")):
        raise TypeError(f"{name} is {called}, not {value!r}")
    text = (
        f"{round(value * 1000)}ms"
        if kind == SECONDS
        else f"{value:.9f}"
        if kind == DOLLARS
        else str(value)
        if kind != PLACE
        else value
        if isinstance(value, str)
        else os.fsdecode(os.fspath(value))
    )
    if "\0" in text:
        raise TypeError(f"{name} has a NUL character: {value!r}")
    return text
