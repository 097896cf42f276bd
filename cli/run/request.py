"""Makes the request for a run from its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.suggest import not_one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.options import RunRequest

BUILT_IN_TOOLS = ("read", "write", "edit", "bash")
NOT_IN_A_REQUEST = ("json", "print_", "rpc", "drain_timeout", "no_stdin", "version")


class FlagError(ValueError):
    """A flag has a value that cannot be used; the text says what can."""


def request_from(parameters: Mapping[str, Any]) -> RunRequest:
    """Makes a request from the parameters of `command.root`; those that are None or absent keep their defaults. A
    parameter has the name of its field, except `no_…` flags. Raises `FlagError`."""
    from agent.options import RunRequest

    given = {name: value for name, value in parameters.items() if value is not None and name not in NOT_IN_A_REQUEST}
    given["tools"] = frozenset() if given.pop("no_tools", False) else tools_from(given.get("tools"))
    given["discover"] = not given.pop("no_ext", False)
    given["session"] = not given.pop("no_session", False)
    return RunRequest(**given)


def tools_from(csv: str | None) -> frozenset[str]:
    """The built-in tools in a comma-separated list; all of them without a list. Raises `FlagError`."""
    if csv is None:
        return frozenset(BUILT_IN_TOOLS)
    names = [name.strip() for name in csv.split(",") if name.strip()]
    for name in names:
        if name not in BUILT_IN_TOOLS:
            raise FlagError(f"--tools: {not_one_of(name, BUILT_IN_TOOLS)}")
    return frozenset(names)
