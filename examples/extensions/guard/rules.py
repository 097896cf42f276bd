"""The shell commands that the guard refuses. Compares words, not text, where it can: `echo "rm -rf /"` is harmless."""

import re
import shlex
from functools import lru_cache
from pathlib import PurePath

PATTERNS = {  # easier to find in the text than in the words; limited repeats keep the search linear
    "fork bomb": re.compile(r"(?<![\w:])([\w:]{1,40})\s*\(\)\s*\{[^}]{0,80}\1\s*\|\s*\1\s*&"),
    "curl | sh": re.compile(r"\b(?:ba|da|k|z)?sh\b[^;|\n]{0,80}[$<]\(\s*(?:curl|wget)\b"),
}
LONGEST = 131_072  # characters; Linux starts no shell with a longer command, and judging one takes too long
SHELLS = {"sh", "bash", "dash", "ksh", "zsh"}
# After one of these words, every word may be a program.
PREFIXES = {
    *("sudo", "doas", "env", "nohup", "nice", "time", "timeout", "xargs", "find", "exec", "command"),
    *("if", "then", "else", "do", "while", "!", "{"),
}


@lru_cache(maxsize=1000)  # a long command may contain the same inner command thousands of times
def refusal(command):
    """Returns the rule that the shell command breaks, or None."""
    if len(command) > LONGEST:
        return "too long"
    for rule, pattern in PATTERNS.items():
        if pattern.search(command):
            return rule
    downloading = False
    for operator, words in simple_commands(command):
        downloading = downloading and operator in ("|", "|&")
        for program, args in programs(words):
            if downloading and program in SHELLS:
                return "curl | sh"
            if rule := broken_rule(program, args):
                return rule
            downloading = downloading or program in ("curl", "wget")
    return None


def broken_rule(program, args):
    """Returns the rule that one program with these arguments breaks, or None."""
    options = [arg for arg in args[: args.index("--") if "--" in args else None] if arg.startswith("-")]
    letters = {letter for option in options if not option.startswith("--") for letter in option[1:]}
    recursive = not letters.isdisjoint("rR") or "--recursive" in options
    forced = "f" in letters or "--force" in options
    if program == "rm" and recursive and forced:
        return "rm -rf"
    if program == "mke2fs" or program.split(".")[0] == "mkfs":
        return "mkfs"
    if program == "dd" and any(arg.startswith("of=/dev/") and arg != "of=/dev/null" for arg in args):
        return "dd of=/dev/..."
    if program == "git" and "push" in args and (forced or any(arg.startswith("+") for arg in args)):
        return "git push --force"
    if program in SHELLS or program == "eval":  # `sh -c "..."`: judge the command inside
        return next(filter(None, (refusal(arg) for arg in args if " " in arg)), None)
    return None


def simple_commands(command):
    """Yields (the operator before it, its words) for each command of a list or pipeline."""
    text = command.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split, lexer.commenters = True, ""
    operator, words = ";", []
    try:
        for token in lexer:
            if set(token) <= set(";&|()"):
                yield operator, words
                operator, words = token, []
            else:
                words.append(token)
    except ValueError:  # an unbalanced quote, as in a here-document: take all words
        words = ["command", *command.split()]
    yield operator, words


def programs(words):
    """Yields (program, arguments) for each program that a simple command may start."""
    anywhere = False
    for position, word in enumerate(words[:50], start=1):  # without a limit the time is quadratic
        name = PurePath(word).name
        yield name, words[position:]
        anywhere = anywhere or name in PREFIXES
        if not anywhere and "=" not in word:  # `NAME=value program`
            return
