"""Tools and commands: their handlers, registrations and calls."""

from __future__ import annotations

from . import docstring, signature
from .content import as_result
from .context import CallContext, CommandContext, ToolContext
from .coroutines import finish
from .errors import RegistrationError
from .responses import as_response
from .schema import SchemaReader
from .signature import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .content import Result
    from .responses import Response


EXPOSURES = ("direct", "deferred", "codemode", "model-only")
"""Values of `exposure`, as in zot."""


class Tool:
    """One tool. `call` raises every exception of the handler, and `BadArgument`."""

    def __init__(
        self,
        handler: Callable[..., object],
        *,
        name: str | None,
        description: str | None,
        schema: Mapping[str, Any] | None,
        timeout_s: float | None,
        idempotent: bool,
        read_only: bool,
        deferred: bool,
        exposure: str | None,
        output_schema: Mapping[str, Any] | None,
        interactive: bool,
        local_names: Mapping[str, object],
    ) -> None:
        self.name = name if name is not None else _name_of(handler)
        what = f"tool {self.name!r}"
        if not self.name:
            raise RegistrationError("a tool needs a name")
        if timeout_s is not None and not 0 < timeout_s <= 86_400:
            raise RegistrationError(f"{what}: timeout_s is more than 0 and at most 86400 seconds, not {timeout_s}")
        if exposure is not None and exposure not in EXPOSURES:
            raise RegistrationError(f"{what}: exposure is one of {', '.join(EXPOSURES)}, not {exposure!r}")
        for option, value in (("deferred", deferred), ("interactive", interactive)):
            if not isinstance(value, bool):
                raise RegistrationError(f"{what}: {option} is True or False, not {value!r}")
        if output_schema is not None and not isinstance(output_schema, dict):
            raise RegistrationError(f"{what}: output_schema is a dict, not {type(output_schema).__name__}")
        text, descriptions = docstring.parse(handler.__doc__)
        self.description = description if description is not None else text
        self.handler = handler
        self._options = {
            "timeout_s": timeout_s, "idempotent": idempotent or None, "read_only": read_only or None,
            "deferred": deferred or None, "exposure": exposure, "output_schema": output_schema,
            "interactive": interactive or None,
        }  # fmt: skip
        signature.is_async(handler, what)
        found, self._context = _without_context(signature.parameters(handler, what, local_names), ToolContext, what)
        self._whole = ""
        if schema is not None:
            if len(found) != 1:
                raise RegistrationError(f"{what}: with schema= it takes one parameter, the dict with all arguments")
            self._whole = found[0].name
            self.schema = dict(schema)
            self._read: Callable[[Any, str], Any] = lambda given, _path: {self._whole: given}
        else:
            shape = SchemaReader(what, local_names).arguments(found, descriptions)
            self.schema, self._read = shape.schema, shape.read

    def call(self, args: object, context: ToolContext) -> Result:
        given = self._read(args, "")
        if self._context:
            given[self._context] = context
        structured = self._options["output_schema"] is not None
        return as_result(finish(self.handler(**given), context), structured=structured)

    def registration(self) -> dict[str, Any]:
        said = {name: value for name, value in self._options.items() if value is not None}
        if said.get("idempotent"):
            said["retry"] = True  # for hosts that know only this name of `idempotent`
        return {
            "type": "register_tool", "name": self.name, "description": self.description, "schema": self.schema, **said
        }  # fmt: skip


class Command:
    """One slash command."""

    def __init__(
        self,
        handler: Callable[..., object],
        *,
        name: str | None,
        description: str | None,
        local_names: Mapping[str, object],
    ) -> None:
        self.name = name if name is not None else _name_of(handler)
        what = f"command {self.name!r}"
        if not self.name or not all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in self.name):
            raise RegistrationError(f"{what}: a command's name is letters, digits, _ and -, without the slash")
        self.description = description if description is not None else docstring.parse(handler.__doc__)[0]
        self.handler = handler
        signature.is_async(handler, what)
        found, self._context = _without_context(signature.parameters(handler, what, local_names), CommandContext, what)
        required = [parameter for parameter in found if parameter.default is MISSING]
        if len(required) > 1 or any(parameter.hint not in (str, MISSING) for parameter in found[:1]):
            raise RegistrationError(
                f"{what} takes one str, what was typed after its name, and may take a CommandContext"
            )
        self._args = found[0].name if found else ""

    def call(self, args: str, context: CommandContext) -> Response:
        given: dict[str, Any] = {self._args: args} if self._args else {}
        if self._context:
            given[self._context] = context
        return as_response(finish(self.handler(**given), context))

    def registration(self) -> dict[str, Any]:
        return {"type": "register_command", "name": self.name, "description": self.description}


def _name_of(handler: Callable[..., object]) -> str:
    return getattr(handler, "__name__", "")


def _without_context(
    found: list[signature.Parameter], kind: type[CallContext], what: str
) -> tuple[list[signature.Parameter], str]:
    """Returns the parameters without the one for the context, and the name of the latter, or ""."""
    wrong = {ToolContext: CommandContext, CommandContext: ToolContext}[kind]
    for parameter in found:
        if _is(parameter.hint, wrong):
            raise RegistrationError(f"{what}: parameter {parameter.name!r} must be a {kind.__name__} here")
    contexts = [parameter.name for parameter in found if _is(parameter.hint, kind) or _is(parameter.hint, CallContext)]
    if len(contexts) > 1:
        raise RegistrationError(f"{what}: parameters {' and '.join(map(repr, contexts))} are both a {kind.__name__}")
    return [parameter for parameter in found if parameter.name not in contexts], contexts[0] if contexts else ""


def _is(hint: object, kind: type) -> bool:
    """Whether the hint is the class, or Optional of it: before Python 3.11, a default of None makes a hint Optional."""
    return hint is kind or set(getattr(hint, "__args__", ())) == {kind, type(None)}
