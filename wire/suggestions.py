"""Error texts for unknown names, with the nearest known ones; when two names of commands are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

NAMES_SHOWN = 20


def join_names(names: Sequence[str], shown: int = 5) -> str:
    """Joins names as `a, b and 18 more`: the first `shown` names and the number of the others."""
    if len(names) > shown:
        return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Returns `did you mean 'x'?` with the nearest known name; "" if no name is near."""
    near = _nearest(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else ""


def no_such(what: str, name: str, known: Collection[str]) -> str:
    """Returns `no such WHAT: 'NAME'` with up to three near names, else with the known names."""
    said = f"no such {what}: {name[:80]!r}"
    if not known:
        return f"{said}; there is none"
    if near := _nearest(name, known, 3):
        return f"{said}; did you mean {' or '.join(map(repr, near))}?"
    names = sorted(known)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{said}; there {'is' if len(names) == 1 else 'are'} {', '.join(names[:NAMES_SHOWN])}{more}"


class UnknownNameError(KeyError):
    """The name is unknown. The text is that of `no_such`; it is made when it is read."""

    def __init__(self, what: str, name: str, known: Collection[str]) -> None:
        super().__init__(name)
        self._parts = (what, name, known)

    def __str__(self) -> str:
        return no_such(*self._parts)


def not_one_of(name: str, known: Collection[str]) -> str:
    """Returns `'NAME' is not one of …`, with the nearest known name."""
    hint = did_you_mean(name, known)
    return f"{name!r} is not one of {', '.join(known)}" + (f"; {hint}" if hint else "")


def letters(name: str) -> str:
    """Returns the lower-case letters of a name: `onFailure`, `on-failure` and `ON_FAILURE` are all `onfailure`."""
    return "".join(character for character in name.casefold() if character.isalnum())


def command_key(name: str) -> str:
    """Returns the key under which a command is found: its name in lower case, letter by letter as zot does. So
    `Straße` and `STRASSE` are two commands, `İ` and `i` are one."""
    return name.lower() if name.isascii() else "".join(letter.lower()[0] for letter in name)


def _nearest(name: str, known: Collection[str], count: int) -> list[str]:
    """Returns at most `count` known names that are similar to `name` in any style, the most similar first."""
    from difflib import get_close_matches  # takes 3 ms, and most runs do not need it

    by_letters: dict[str, list[str]] = {}
    for each in known:
        by_letters.setdefault(letters(each), []).append(each)
    like = get_close_matches(letters(name), by_letters, n=count)
    return [each for found in like for each in by_letters[found]][:count]
