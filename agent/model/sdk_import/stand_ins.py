"""Stand-ins for modules of the SDK that are left out.

A stand-in can be imported, subclassed and named in an annotation. Using it in any other way is a *touch*: it raises
`StandInTouchedError`, and the touch is on record even if the SDK swallows that error.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from agent.model.sdk_import.left_out import is_left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

touched: list[str] = []
"""The full names of what was touched, in order."""


class StandInTouchedError(RuntimeError):
    """The SDK uses a part of itself that is left out."""


class _StandInClass(type):
    """The class of stand-ins for classes, functions and constants: which of them a name was is not known."""

    def __call__(cls, *_args: Any, **_kwargs: Any) -> Any:
        _touch(f"{cls.__module__}.{cls.__name__}()")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _touch(f"{cls.__module__}.{cls.__name__}.{name}")

    def __getitem__(cls, _parameters: Any) -> Any:
        return cls


def _touch(name: str) -> None:
    touched.append(name)
    raise StandInTouchedError(f"the SDK uses {name}, which is left out")


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        made = sys.modules.get(full) or _stand_in(self.__name__, name)
        setattr(self, name, made)
        return made


def _stand_in(module: str, name: str) -> Any:
    if name.endswith("Error"):
        # The SDK has a class of errors for many of the reasons that a server can give; here they are all one.
        from anthropic._exceptions import APIStatusError

        return type(name, (APIStatusError,), {"__module__": module})
    return _StandInClass(name, (), {"__module__": module})


class StandInFinder:
    """Finds stand-ins, ahead of the modules themselves. (Its base classes in `importlib.abc` take 20 ms to import.)"""

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> Any:
        if fullname.startswith("anthropic.") and is_left_out(fullname):
            return ModuleSpec(fullname, cast("Any", self), is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""
