"""The programs, paths and URLs of a shell command, as far as its text shows them. Pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PARSED = 4096
"""Maximum length in characters of a command that is divided into words like in a shell. A longer one is not plain."""
LOOKED_AT = 64 * 1024
"""Number of first characters of a command in which words are searched."""
_URL = re.compile(r"""[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s'"`<>|;&()]+""")
_NAME = re.compile(r"[A-Za-z0-9_./+-]+")
_NOT_PLAIN = re.compile(r"[`$\\]|[^\S \t]")
"""Characters with a special meaning in a shell."""
_REDIRECTIONS = frozenset({"<", ">", ">>", ">|", ">&", "<&", "<>"})
_SEPARATORS = frozenset({";", "&", "&&", "|", "||", "(", ")"})
_PUNCTUATION = "();<>|&"
_KEYWORDS = frozenset(
    {
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
        "select", "time", "coproc", "eval", "exec", "command", "builtin", "source", ".",
    }
)  # fmt: skip
"""Words that the name of a program follows."""

SHELLS = frozenset(
    {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox", "npx", "npm", "su", "script", "flock"}
)
"""Programs that pass the word behind `-c` to a shell."""
_SHELL_WITHIN = re.compile(rf"""(?:^|[\s/='"]|-S)(?:{"|".join(sorted(SHELLS))})\s+-""")
"""A command line for a shell in one word, as for `env -S`."""
_COMMAND_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command|--call")
_AT_START = r"""(?<![^\s'"=:;&|(<>])"""
_HERE = re.compile(_AT_START + r"\$(?:PWD(?![A-Za-z0-9_])|\{PWD\})")
_HOME = re.compile(_AT_START + r"\$(?:HOME(?![A-Za-z0-9_])|\{HOME\})")
_ARGUMENTS = re.compile(r'(?<!\S)(?:"\$@"|\$@)(?!\S)')
"""The arguments behind the command in the command line of the shell."""
_TURNS = re.compile(r"\b(?:PWD|HOME|CDPATH|IFS)=|[*?\[\]{}!#]")
"""Variables and patterns that change the file which a word names."""
_OTHER_PLACE = re.compile(r"~[^/]|/+(?:proc|dev/fd)/")
"""The home of another user, and folders whose content depends on the process."""
_QUOTED = re.compile(r"[\s'\"();<>|&]")
"""Characters that only a quoted word can have: the word may be a command itself."""
_MAKES_COMMANDS = frozenset({"eval", "xargs", "parallel"})
_READS_COMMANDS = SHELLS | {".", "source"}
"""Programs that run commands from their input."""


class PlainWords(NamedTuple):
    """A command that consists of words, separators and redirections only."""

    programs: list[tuple[str, str]]
    """Each program with the word behind it, or ""."""
    paths: list[str]
    """All words that may be paths, each once."""
    options: list[str]


def words_of(command: str) -> tuple[list[str], list[str]]:
    """Returns the names of the programs that a command starts, and all words that may be paths, each once."""
    found = plain_words(command)
    if found is not None:
        return list(dict.fromkeys(name for name, _ in found.programs)), found.paths
    words = re.split(r"[\s'\"`=<>|;&(){}$\\]+", command[:LOOKED_AT])
    names = [command, *(word for word in words if _NAME.fullmatch(word) and not word.startswith("-"))]
    paths = (word for word in words if word and not word.startswith("-"))
    return list(dict.fromkeys(names)), list(dict.fromkeys(paths))


def plain_words(command: str) -> PlainWords | None:
    """Returns the parts of a plain command; None for any other command."""
    programs: list[list[str]] = []
    paths: list[str] = []
    options: list[str] = []
    is_first = True
    before = ""
    for word in _split(command):
        if word in _SEPARATORS:
            is_first = True
        elif word in _REDIRECTIONS:
            pass
        elif word and not word.strip(_PUNCTUATION):
            return None
        elif before in _REDIRECTIONS:
            paths.append(word)
        elif not is_first:
            programs[-1].append(word)
            paths.append(word.rpartition("=")[2] if word.startswith("-") else word)
            if word.startswith("-"):
                options.append(word)
        elif _NAME.fullmatch(word) and word not in _KEYWORDS:
            programs.append([word])
            is_first = False
        else:
            return None
        before = word
    if not programs:
        return None
    shown = [path for path in dict.fromkeys(paths) if path and not path.startswith("-")]
    return PlainWords([(name, rest[0] if rest else "") for name, *rest in programs], shown, options)


def texts_for_shells(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line that a shell in it may read as commands; [] without a shell."""
    lines = [word for word in words if _SHELL_WITHIN.search(word)]
    for number, word in enumerate(words):
        rest = words[number + 1 :]
        if word.rpartition("/")[2] in SHELLS and any(map(_COMMAND_FLAG.fullmatch, rest)):
            return [*lines, *(each for each in rest if not each.startswith("-"))]
    return lines


def with_known_folders(text: str) -> str:
    """Returns the text with `.` for `$PWD`, and `~` for `$HOME`, where a word or a part of a list begins with them."""
    return _HOME.sub("~", _HERE.sub(".", text))


def certain_words(text: str) -> list[str] | None:
    """Returns all words of a text for a shell, and of each word that is a command itself, `with_known_folders`. None if
    the shell may use a file that is not among them: by other variables, substitutions, patterns or escapes, several
    lines, or programs that make or read commands."""
    found: list[str] = []
    words = _split(_ARGUMENTS.sub("", with_known_folders(text)))
    if not words and text.strip():
        return None
    for word in words:
        if not word or word in _SEPARATORS or word in _REDIRECTIONS or word in ("{", "}"):
            continue
        if not word.strip(_PUNCTUATION) or word in _MAKES_COMMANDS or _TURNS.search(word) or _OTHER_PLACE.match(word):
            return None
        inside = certain_words(word) if _QUOTED.search(word) else []
        if inside is None:
            return None
        found += [word, *inside]
    if "|" in words and any(word.rpartition("/")[2] in _READS_COMMANDS for word in found):
        return None
    return found


def _split(command: str) -> list[str]:
    """Returns the words and separators of a command, divided like in a shell; [] if they do not show what it does."""
    if len(command) > PARSED or _NOT_PLAIN.search(command):
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return []


def urls_in(command: str) -> list[str]:
    """Returns the URLs in a command, each once."""
    return list(dict.fromkeys(_URL.findall(command[:LOOKED_AT])))
