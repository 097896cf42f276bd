"""Makes JSON Schemas from type hints.

Known hints are str, int, float, bool, Any, None, list, tuple[X, ...], set, dict, Literal, Enum, Optional and other
unions, TypedDict, dataclasses, NewType and Annotated. Others raise `RegistrationError`, which names the parameter.
"""

from __future__ import annotations

import enum
import types
import typing

from . import docstring, shapes
from .errors import RegistrationError
from .shapes import Field, Shape
from .signature import MISSING, Parameter

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

UNIONS = tuple(kind for kind in (typing.Union, getattr(types, "UnionType", None)) if kind is not None)
MARKERS = ("Required", "NotRequired", "ReadOnly")
SEQUENCES: dict[object, Callable[[Any], Any]] = {list: list, tuple: tuple, set: set, frozenset: frozenset}


class SchemaReader:
    """Reads the hints of one handler. `local_names` are the names of the scope in which the handler is defined."""

    def __init__(self, what: str, local_names: Mapping[str, object] | None = None) -> None:
        self._what = what
        self._locals = dict(local_names or {})

    def arguments(self, parameters: list[Parameter], descriptions: Mapping[str, str]) -> Shape:
        """Returns the shape of all arguments of a tool. Reading it returns the handler's keyword arguments."""
        fields = {}
        for parameter in parameters:
            name = parameter.name
            if parameter.hint is MISSING:
                raise RegistrationError(f"{self._what}: parameter {name!r} has no type hint, such as {name}: str")
            fields[name] = self._field(
                parameter.hint, f"parameter {name!r}", parameter.default, descriptions.get(name, ""), ()
            )
        return shapes.record(fields, lambda given: given)

    def shape(self, hint: Any, where: str, inside: tuple[object, ...] = ()) -> Shape:
        """Returns the shape of a hint. `where` names the parameter; `inside` are the classes around the hint."""
        if hint is typing.Any or hint is object:
            return shapes.anything()
        if hint is None or hint is type(None):
            return shapes.null()
        if hint in (str, int, float, bool):
            return shapes.plain(hint)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.shape(hint.__supertype__, where, inside)
        if type(hint).__name__ == "TypeAliasType":  # `type X = …`
            return self.shape(hint.__value__, where, inside)
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint), where, inside)
        if hint is dict:
            return shapes.mapping(shapes.anything())
        if isinstance(hint, type) and hint in SEQUENCES:
            return shapes.listing(shapes.anything(), SEQUENCES[hint])
        if isinstance(hint, type):
            return self._class(hint, where, inside)
        raise self._unfit(hint, where)

    def _generic(self, hint: Any, origin: Any, args: tuple[Any, ...], where: str, inside: tuple[object, ...]) -> Shape:
        if origin is typing.Annotated:
            shape = self.shape(args[0], where, inside)
            return Shape(shape.what, {**shape.schema, **_annotations(args[1:])}, shape.read)
        if origin in UNIONS:
            return shapes.either([self.shape(arg, where, inside) for arg in args])
        if origin is typing.Literal:
            if not all(isinstance(value, (str, int, bool, type(None))) for value in args):
                raise self._unfit(hint, where)
            return shapes.choice([(value, value) for value in args])
        if origin is dict:
            if args[0] is not str:
                raise RegistrationError(
                    f"{self._what}: {where}: the keys of a JSON object are str, not {_shown(args[0])}"
                )
            return shapes.mapping(self.shape(args[1], where, inside))
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            raise self._unfit(hint, where)
        if origin in SEQUENCES:
            return shapes.listing(self.shape(args[0], where, inside), SEQUENCES[origin])
        raise self._unfit(hint, where)

    def _class(self, hint: Any, where: str, inside: tuple[object, ...]) -> Shape:
        if hint in inside:
            raise RegistrationError(
                f"{self._what}: {where}: {hint.__name__} contains itself; give the schema as schema="
            )
        if issubclass(hint, enum.Enum):
            members = [(member.value, member) for member in hint]
            if not members or not all(isinstance(value, (str, int, float, bool)) for value, _ in members):
                raise RegistrationError(f"{self._what}: {where}: the values of {hint.__name__} must be str or numbers")
            return shapes.choice(members)
        if issubclass(hint, dict) and hasattr(hint, "__total__"):
            return self._typed_dict(hint, where, (*inside, hint))
        if hasattr(hint, "__dataclass_fields__"):
            return self._dataclass(hint, where, (*inside, hint))
        raise self._unfit(hint, where)

    def _typed_dict(self, hint: Any, where: str, inside: tuple[object, ...]) -> Shape:
        _, descriptions = docstring.parse(hint.__doc__)
        fields = {}
        for name, declared in self._members(hint, where).items():
            required, member_hint = name in hint.__required_keys__, declared
            while (marker := getattr(typing.get_origin(member_hint), "_name", "")) in MARKERS:
                required = {"Required": True, "NotRequired": False}.get(marker, required)
                member_hint = typing.get_args(member_hint)[0]
            shape = self.shape(member_hint, f"{where}, {name!r} of {hint.__name__}", inside)
            fields[name] = Field(shape, required=required, schema=_described(shape.schema, descriptions.get(name, "")))
        return shapes.record(fields, lambda given: given)

    def _dataclass(self, hint: Any, where: str, inside: tuple[object, ...]) -> Shape:
        import dataclasses

        _, descriptions = docstring.parse(hint.__doc__)
        hints = self._members(hint, where)
        fields = {}
        for field in dataclasses.fields(hint):
            if field.init:
                optional = field.default_factory is not dataclasses.MISSING
                default = MISSING if field.default is dataclasses.MISSING else field.default
                fields[field.name] = self._field(
                    hints[field.name], f"{where}, {field.name!r} of {hint.__name__}", default,
                    descriptions.get(field.name, ""), inside, optional=optional,
                )  # fmt: skip
        return shapes.record(fields, lambda given: hint(**given))

    def _field(
        self,
        hint: Any,
        where: str,
        default: object,
        description: str,
        inside: tuple[object, ...],
        *,
        optional: bool = False,
    ) -> Field:
        shape = self.shape(hint, where, inside)
        schema = _described(shape.schema, description)
        if default is not MISSING:
            optional = True
            try:
                schema = {**schema, "default": _as_json(default)}
            except TypeError:
                pass  # JSON cannot hold the default, but the field is optional
        return Field(shape, required=not optional, schema=schema)

    def _members(self, hint: Any, where: str) -> dict[str, Any]:
        try:
            return typing.get_type_hints(hint, localns=self._locals, include_extras=True)
        except Exception as error:
            raise RegistrationError(
                f"{self._what}: {where}: the hints of {hint.__name__} cannot be read: {error}"
            ) from error

    def _unfit(self, hint: Any, where: str) -> RegistrationError:
        return RegistrationError(
            f"{self._what}: {where}: {_shown(hint)} cannot be expressed in JSON Schema; use str, int, float, bool, "
            "list, dict, Literal, Enum, Optional, TypedDict or a dataclass, or give the schema as schema="
        )


def _annotations(metadata: tuple[Any, ...]) -> dict[str, Any]:
    """Returns additions to a schema: a str is the description, a dict adds members; other metadata is ignored."""
    found: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        elif isinstance(item, dict):
            found.update(item)
    return found


def _described(schema: dict[str, Any], description: str) -> dict[str, Any]:
    """Adds the docstring's description, unless an annotation gave one."""
    return {**schema, "description": description} if description and "description" not in schema else schema


def _as_json(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _as_json(value.value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _as_json(member) for name, member in value.items()}
    raise TypeError


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
