"""The parts of the anthropic SDK that the model worker leaves out, why each can be left out, and their stand-ins.

A stand-in can be imported, subclassed and named in an annotation. Using it in any other way is a *touch*: it raises
`StandInTouchedError`, and the touch is on record even if the SDK swallows that error.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEFT_OUT: Mapping[str, str] = {
    "anthropic.types": "a request is a plain dict, and the worker reads the raw events of a reply; 2,500 modules",
    "anthropic.resources.beta": "only /v1/messages is requested",
    "anthropic.resources.completions": "only /v1/messages is requested",
    "anthropic.resources.files": "only /v1/messages is requested",
    "anthropic.resources.models": "only /v1/messages is requested",
    "anthropic.resources.organization": "only /v1/messages is requested",
    "anthropic.resources.skills": "only /v1/messages is requested",
    "anthropic.resources.user_profiles": "only /v1/messages is requested",
    "anthropic.resources.messages.batches": "each request is sent at once",
    "anthropic.lib.aws": "another provider's client",
    "anthropic.lib.bedrock": "another provider's client",
    "anthropic.lib.foundry": "another provider's client",
    "anthropic.lib.google_cloud": "another provider's client",
    "anthropic.lib.vertex": "another provider's client",
    "anthropic.lib.environments": "nothing is run in an environment of the provider",
    "anthropic.lib.middleware": "no middleware is used",
    "anthropic.lib.sessions": "no session of the provider is used",
    "anthropic.lib.threads": "no thread of the provider is used",
    "anthropic.lib.tools": "the host runs the tools",
    "anthropic.lib.streaming": "the worker builds the reply itself, from the raw events",
}
"""The reason by package or module; what lies inside a package is left out with it. A name that a version of the SDK
does not have does no harm."""


def is_left_out(module: str) -> bool:
    """Whether this module, by its full name, is left out."""
    while module:
        if module in LEFT_OUT:
            return True
        module = module.rpartition(".")[0]
    return False


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
