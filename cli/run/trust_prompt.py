"""Asks on the terminal whether extensions of a project that are not trusted may run, before a run is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.terminal import is_in_front, is_terminal
from supervisor.discovery.admission import Admission, Consent
from supervisor.home.copilot_folders import copilot_folder_of
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from supervisor.discovery.content.covered_files import Content
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.trust_rules import TrustJudgement
    from supervisor.home.config import Config
    from wire.manifest import Manifest

FILES_SHOWN = 100
CHANGES_SHOWN = 10
LINE = 1000
"""The longest line that is shown, in characters."""
QUESTION = "      It would run as you. Start it, now and until it changes?"
QUESTION_OF_SKILLS = "      The model would follow its skills. Use it, now and until it changes?"
CHOICES = " [y]es, [N]o, [a]ll, [s]how its files: "


def ask(explicit: tuple[str, ...], cwd: str, home: Path, mcp_configs: tuple[str, ...] = ()) -> Consent:
    """Asks about each extension of the project that is not trusted, and records a yes. Asks only if stdin and stderr
    are a terminal and this process is in the foreground; otherwise none of these extensions is started. Of the user's
    Copilot extensions the run tells in one line: a question about them in each project would annoy.

    The end of input means no. Raises `KeyboardInterrupt`.
    """
    project = Path(cwd)
    if not _has_extensions(project) or not can_ask():
        return Consent()
    from supervisor.discovery.discover import McpFiles, discover
    from supervisor.discovery.found_extension import Scope
    from supervisor.discovery.trust_store import TrustError, TrustStore
    from supervisor.home.config import load_config

    store = TrustStore(home)
    admit = Admission(home, Consent()).for_one_start()
    skipped = discover(explicit, project, home, admit, McpFiles(project, mcp_configs)).skipped
    config = load_config(home)
    once: set[Path] = set()
    everything = False
    untrusted = [each.untrusted for each in skipped if each.untrusted is not None]
    for found in [each for each in untrusted if each.scope is Scope.PROJECT]:
        verdict = store.examine(found.place, found.manifest, found)
        if verdict.content is None:
            continue  # the run or `zot ext trust` says why it could not be read
        tell(f"zot: this project has {found.kind.one} that is not trusted ({verdict.reason})")
        for line in card(found, verdict, config, os.environ):
            tell(f"      {line}")
        if not everything:
            answer = answer_to(question_about(found), verdict.content)
            everything = answer == "all"
            if answer == "no":
                continue
        try:
            store.trust(found.place, found.manifest, verdict.content, found=found)
        except TrustError as error:
            tell(f"zot: {error}; {found.manifest.name} is started this once")
            once.add(found.place)
    return Consent(folders=frozenset(once))


def question_about(found: FoundExtension) -> str:
    """The question whether to trust the extension."""
    return QUESTION_OF_SKILLS if found.manifest.without_program else QUESTION


def _has_extensions(project: Path) -> bool:
    folders = (project / ".zot" / "extensions", copilot_folder_of(project))
    return any(folder.is_dir() for folder in folders) or (project / ".mcp.json").exists()


def can_ask() -> bool:
    """Whether a person at a terminal can answer: see `ask`."""
    return is_terminal(0) and is_terminal(2) and is_in_front(0)


def card(found: FoundExtension, judged: TrustJudgement, config: Config, environ: Mapping[str, str]) -> Iterator[str]:
    """Lines about an extension, for the decision whether to trust it. `environ` is the environment of this process, of
    which a run started here hands over what the lines say."""
    from cli.number_format import size
    from supervisor.discovery.trust_rules import data_advice

    manifest, content = found.manifest, judged.content
    assert content is not None
    count = len(content.files)
    yield f"name    {manifest.name}"
    files = f"{counted(count, 'file')}, {size(content.bytes)}"
    if found.mcp_file is None:
        yield f"folder  {found.folder} ({files})"
    else:
        yield f"entry   {found.mcp_file}, with {files} of the project"
        yield f"runs in {found.folder}"
    yield f"runs    {command_line(found) or 'nothing'}"
    if manifest.skills:
        yield f"skills  {', '.join(manifest.skills)}: instructions to the model"
    if manifest.data:
        yield f"data    not checked: {', '.join(manifest.data)} in its folder"
    if found.mcp_entry is not None and found.mcp_entry.server.env:
        yield f"sets    {', '.join(f'{name}={value}' for name, value in found.mcp_entry.server.env.items())}"
    if not manifest.without_program:
        yield from environment_lines(manifest, config, environ)
    if judged.changes:
        more = len(judged.changes) - CHANGES_SHOWN
        yield f"changed {', '.join(judged.changes[:CHANGES_SHOWN])}" + (f" and {more} more" if more > 0 else "")
        if found.kind.has_folder and (advice := data_advice(judged.changes, manifest)):
            yield f"        {advice}"


def environment_lines(manifest: Manifest, config: Config, environ: Mapping[str, str]) -> Iterator[str]:
    """Lines about the variables that the extension asks for, and the secrets of `environ` that it gets and does not
    get. It gets all other variables, or under the policy `minimal` only the named ones."""
    from supervisor.discovery.environment import NEVER, given_secrets, is_secret, may_have, policy_of, withheld_secrets

    if manifest.env:
        asked = sorted(dict.fromkeys(manifest.env), key=lambda name: not is_secret(name, config, environ.get(name, "")))
        yield f"asks    for {', '.join(asked)}"  # secrets first, because a long line is cut
    secrets = given_secrets(manifest, config, environ)
    if policy_of(manifest, config) == "minimal":
        plain = sorted(
            name for name, value in environ.items() if name not in secrets and may_have(name, manifest, config, value)
        )
        yield f"gets    of your environment only {', '.join([*secrets, *plain]) or 'nothing'}"
        return
    kept = sorted([*withheld_secrets(manifest, config, environ), *NEVER & environ.keys()])
    rest = len(environ) - len(kept) - len(secrets)
    what = f"the secrets {', '.join(secrets)}" if secrets else "no secrets"
    yield f"gets    {what}, and {rest} other variables of your environment"
    if kept:
        yield f"not     {', '.join(kept)}: these are secrets"


def command_line(found: FoundExtension) -> str:
    """The program of the extension and its arguments, quoted for a shell."""
    import shlex

    return shlex.join(found.written)


def files(content: Content) -> Iterator[str]:
    """A line for each of the first `FILES_SHOWN` files."""
    from cli.number_format import size

    for number, (path, length) in enumerate(content.files.items()):
        if number == FILES_SHOWN:
            yield f"… and {len(content.files) - FILES_SHOWN} more"
            return
        yield f"{size(length):>9}  {path}"


def answer_to(question: str, content: Content) -> str:
    """`yes`, `no` or `all`; the end of input means no. Raises `KeyboardInterrupt`."""
    while True:
        tell(question + CHOICES, end="")
        try:
            words = read_line()
        except KeyboardInterrupt:
            tell("")
            raise
        if words is None:
            tell("")
            return "no"
        for answer in ("yes", "no", "all", "show"):
            if answer.startswith(words or "no"):
                break
        else:
            continue
        if answer != "show":
            return answer
        for line in files(content):
            tell(f"      {line}")


def read_line() -> str | None:
    """The line that the user types, in lower case; None at the end of input. Raises `KeyboardInterrupt`."""
    try:
        data = os.read(0, 4096)
    except OSError:
        return None
    return data.decode("utf-8", "replace").strip().lower() if data else None


def tell(text: str, end: str = "\n") -> None:
    """Prints a line for a person, on stderr."""
    print(cut(text), file=sys.stderr, end=end, flush=True)  # noqa: T201


def cut(text: str) -> str:
    """The text as one line for a terminal. A cut line says how much is missing."""
    from wire.text import printable

    line = printable(text.replace("\n", " "))
    more = len(line) - LINE
    return line if more <= 0 else f"{line[:LINE]} … and {more} more characters: read its extension.json"
