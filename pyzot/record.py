"""Base of all events and answers: they cannot be changed, compare by value, and work with `match`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_given):
        return lambda cls: cls


_MATCH = "__match_args__"
"""Type checkers derive it from the annotations, and do not allow setting it."""
_classes: dict[str, type[Part]] = {}
"""Classes by name."""
_content: dict[str, type[Part]] = {}
"""Classes of content blocks by type."""


@dataclass_transform(frozen_default=True)
class Part:
    """A JSON object as an object of Python: an attribute for each member. Members that this version does not know are
    left out."""

    _names: ClassVar[tuple[str, ...]] = ()
    """Names of the members: the annotations of a subclass except `ClassVar`. They are its `__match_args__`, too."""
    _parts: ClassVar[dict[str, str]] = {}
    """How members with objects are read: `Totals`, `Cost{}` for an object of `Cost`, `content[]` for a list of content
    blocks, and `plain[]` for a list of other values."""

    def __init_subclass__(cls) -> None:
        if cls.__name__.endswith("Content"):
            _content[cls.type] = cls  # type: ignore[attr-defined]
        cls._names = tuple(name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar"))
        setattr(cls, _MATCH, cls._names)
        _classes[cls.__name__] = cls

    def __init__(self, *values: Any, **members: Any) -> None:
        cls = type(self)
        known = cls._names
        if len(values) > len(known) or members.keys() & (given := dict(zip(known, values, strict=False))).keys():
            raise TypeError(f"{cls.__name__} takes {', '.join(known) or 'nothing'}, each once")
        members = {**given, **members}
        if not members.keys() <= {*known, *cls._common()}:
            raise TypeError(f"{cls.__name__} has no {sorted(members.keys() - {*known, *cls._common()})}")
        missing = [name for name in known if name not in members and not hasattr(cls, name)]
        if missing:
            raise TypeError(f"{cls.__name__} needs {missing}")
        self.__dict__.update(members)

    @classmethod
    def _common(cls) -> tuple[str, ...]:
        return ()

    @classmethod
    def read(cls, members: Mapping[str, Any]) -> Self:
        """Reads a JSON object. Raises `KeyError`, `TypeError` or `AttributeError` if it does not fit."""
        made = cls.__new__(cls)
        held = made.__dict__
        for name in cls._names:
            if name in members:
                held[name] = members[name]
            elif not hasattr(cls, name):
                raise KeyError(name)
        for name, kind in cls._parts.items():
            if held.get(name) is not None:
                held[name] = _read_part(kind, held[name])
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self._names)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._values())))

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__name__}({members})"


class Event(Part):
    """A record of the event stream."""

    type: ClassVar[str] = ""
    """The type, as in the line; an attribute of an `UnknownEvent`."""
    if TYPE_CHECKING:  # properties, for type checkers: fields with a default would have to follow those of the classes

        @property
        def prompt(self) -> str:
            """The id of its prompt; "" for events of extensions and of the whole session."""
            return ""

        @property
        def raw(self) -> bytes:
            """The line as it came, without the line feed."""
            return b""

    else:
        prompt = ""
        raw = b""

    @classmethod
    def _common(cls) -> tuple[str, ...]:
        return ("prompt", "raw")


class UnknownEvent(Event):
    """A record that this version does not know. `members` has all of it."""

    type: str  # type: ignore[misc]
    members: dict[str, Any]


def _read_part(kind: str, value: Any) -> Any:
    if kind == "plain[]":
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    if kind == "content[]":
        return tuple(_content[item["type"]].read(item) for item in value)
    if kind.endswith("[]"):
        return tuple(_classes[kind[:-2]].read(item) for item in value)
    if kind.endswith("{}"):
        return {name: _classes[kind[:-2]].read(item) for name, item in value.items()}
    return _classes[kind].read(value)
