"""Finds wording that CONTRIBUTING.md rules out, as far as a program can see it: `python docs/words.py [PREFIX]...`

Reads docstrings and comments of all Python files, the other strings of the product, and the Markdown. Exits 1 if a
sentence begins with a pronoun in place of its subject, if a phrase hides that something is missing, or if a module's
name is no noun. A question may begin with "What".
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
OPENERS = re.compile(
    r"(?:\A\s*|[.!?]\)?(?:\*\*)?\s+)(?:\*\*)?((?:What|Those|Who|So many|Nobody|That which)\b[^.!?]*[.!?]?)"
)
PHRASES = re.compile(r"\b(any\s?more(?! than)|what there is not|is none of|nobody can tell|be it)\b", re.IGNORECASE)
HINT = re.compile(
    r"What|Those|Who|So many|Nobody|That which|any\s?more|is none of|nobody can|what there|be it", re.IGNORECASE
)
"""A quick look, which spares most texts the others."""
NO_NOUN = re.compile(
    r"what|who|that|those|such|same|own|other|others|one|two|three|once|beside|within|before|after|at|by|for|into|"
    r"\w+ed|\w+ing|kept|made|said|shown|taken|told"
)
PARAGRAPHS = re.compile(r"\n\s*\n|\n\s*(?:[-*>|]|\d+\.)\s|\s\|\s")
"""Places in a text where a sentence begins although none has ended: paragraphs, list items, cells of a table."""
NOT_PROSE = re.compile(r"^```.*?^```|^#.*?$|``.*?``|`[^`]*`|\[[^]]*\]\([^)]*\)|\"[^\"\n]*\"", re.DOTALL | re.MULTILINE)
"""Parts of Markdown that are not ours to word: code, headings, names of pages, quotations."""
SKIPPED = ("CHANGELOG.md", "docs/reference/", "sdk/typescript/dist/")
PRODUCT = ("wire/", "supervisor/", "agent/", "cli/", "pyzot/", "zotext/")
EXCEPTIONS = {
    "tests/vectors/everything/everything.py": "the published vector: its extension.json names the program",
    "zotext/docstring.py": "docstring: Python's noun",
    "agent/tools/catalogue.py: What /bin/sh": "text that the model reads, and recordings hold",
    "agent/skills/builtin/write-zot-extension/SKILL.md: What is left out": "text that the model reads",
}
"""Path, or path and text → why it stays. At most `MOST`, and none that matches nothing."""
MOST = 20


class Finding(NamedTuple):
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def in_text(text: str) -> Iterator[tuple[int, str]]:
    """Offset and words of each place in a text that breaks a rule."""
    if not HINT.search(text):
        return
    start = 0
    for gap in (*PARAGRAPHS.finditer(text), None):
        part = text[start : gap.start() if gap else None]
        for match in (*OPENERS.finditer(part), *PHRASES.finditer(part)):
            if not match[1].endswith("?"):
                yield start + match.start(1), " ".join(match[1].split())[:80]
        start = gap.end() if gap else 0


def in_python(source: str, *, all_strings: bool) -> Iterator[tuple[int, str]]:
    """Line and words of each place in the docstrings and comments of a module; and in its other strings, if asked."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (all_strings or id(node) in prose):
            for offset, words in in_text(node.value):
                yield node.lineno + node.value[:offset].count("\n"), words
    if not HINT.search(" ".join(re.findall("#.*", source))):
        return
    comments: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            above = comments.pop(token.start[0] - 1, "")
            comments[token.start[0]] = f"{above} {token.string.lstrip('#! ')}".strip()
    for line, text in comments.items():
        for _offset, words in in_text(text):
            yield line, words


def in_markdown(text: str) -> Iterator[tuple[int, str]]:
    blank = NOT_PROSE.sub(lambda part: "x" + "\n" * part.group().count("\n"), text)
    for offset, words in in_text(blank):
        yield blank[:offset].count("\n") + 1, words


def is_noun(module: str) -> bool:
    """Whether the last word of a module's name, which the others describe, can be a noun."""
    return not NO_NOUN.fullmatch(module.rpartition("_")[2])


def findings(root: Path, prefixes: tuple[str, ...]) -> Iterator[Finding]:
    tracked = subprocess.run(["git", "ls-files", "*.py", "*.md"], cwd=root, capture_output=True, text=True, check=True)
    for file in tracked.stdout.splitlines():
        if file.startswith(SKIPPED) or not file.startswith(prefixes):
            continue
        text = (root / file).read_text()
        is_python = file.endswith(".py")
        found = in_python(text, all_strings=file.startswith(PRODUCT)) if is_python else in_markdown(text)
        yield from (Finding(file, line, words) for line, words in found)
        if is_python and not Path(file).stem.startswith("test_") and not is_noun(Path(file).stem):
            yield Finding(file, 1, "the name of a module is a noun")


def main(prefixes: tuple[str, ...]) -> int:
    """Prints each finding that is no exception, and each exception that is none."""
    used = set()
    wrong = []
    for finding in findings(ROOT, prefixes or ("",)):
        reasons = [key for key in EXCEPTIONS if f"{finding.file}: {finding.text}".startswith(key)]
        used.update(reasons)
        if not reasons:
            wrong.append(str(finding))
    if not prefixes:
        wrong += [f"docs/words.py: the exception {key!r} matches nothing" for key in EXCEPTIONS.keys() - used]
        wrong += [f"docs/words.py: {len(EXCEPTIONS)} exceptions, at most {MOST}"] if len(EXCEPTIONS) > MOST else []
    sys.stdout.write("".join(f"{each}\n" for each in wrong) or "wording: nothing found\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(tuple(sys.argv[1:])))
