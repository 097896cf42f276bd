"""Fifty extensions in sh, some of them with a fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from random import Random

USUAL = "USUAL"
"""Stands for the seconds that a run takes, and half of what `SLOW` adds."""
SLOWNESS_S = 3.0
"""Seconds that `SLOW` adds to a run."""
EVENTS = ("tool_call", "tool_result")
SCRIPT = """\
LC_ALL=C
{start}printf '{{"type":"hello","name":"{name}","version":"1.0.0"}}\\n'
echo '{{"type":"subscribe","events":{events},"intercept":{guarded}}}'
echo '{{"type":"ready"}}'
while IFS= read -r line; do
  id=${{line#*'"id":"'}}
  id=${{id%%'"'*}}
  more=
  case $line in
    '{{"type":"event_intercept",'*)
      {fault}
      printf '{{"type":"event_intercept_response","id":"%s"%s}}\\n' "$id" "$more" ;;
    '{{"type":"shutdown"}}') echo '{{"type":"shutdown_ack"}}'; exit 0 ;;
  esac
done
"""


class Faulty(NamedTuple):
    """The shell code of a faulty extension."""

    guarded: str
    """The event that it guards."""
    fault: str
    """Run for each such event, before the answer. `$more` is added to the answer's fields."""
    start: str = ""
    """Run before the hello."""


class Family(NamedTuple):
    """One kind of fault, in one extension or in several that are faulty together only."""

    members: Callable[[Path], tuple[Faulty, ...]]
    """Their code, in the order of guards, for a folder in which they can leave files."""
    check: tuple[str, ...]
    """The flags of `zot ext bisect`."""
    form: str = "-p"
    """The output of the run, which a check by a command reads."""


def _result(text: str) -> str:
    content = json.dumps([{"type": "text", "text": text}])
    return f""",\\"modified_result\\":{{\\"content\\":{content.replace('"', chr(92) + '"')}}}"""


def _rewrites(old: str, new: str) -> Faulty:
    return Faulty("tool_result", f"""case $line in *'{old}'*) more="{_result(new)}" ;; esac""")


CRASH = Faulty("tool_call", "echo 'out of luck' >&2; exit 3")
HANG = Faulty("tool_call", "while read -r line; do :; done")
NEVER_GREETS = Faulty("tool_call", ":", start="while read -r line; do :; done; ")
SLOW = Faulty("tool_call", f"sleep {SLOWNESS_S / 2}")
LEAK = Faulty("tool_call", "[ $x ] || x=0123456789abcdef; for _ in 1 2 3 4 5 6 7 8 9 10 11; do x=$x$x; done")
FAMILIES: Mapping[str, Family] = {
    "crash": Family(lambda _: (CRASH,), ("--check-text", r"exit 3\b")),
    "crash, by a command": Family(lambda _: (CRASH,), ("--check", '! grep -q "exit 3"'), "--json"),
    "leak": Family(lambda _: (LEAK,), ("--max-rss", "40")),
    "slowness": Family(lambda _: (SLOW,), ("--max-s", USUAL)),
    "rewrite": Family(lambda _: (_rewrites("hello", "he11o"),), ("--check-text", "he11o")),
    "rewrite, by difference": Family(lambda _: (_rewrites("hello", "he11o"),), ("--differs",)),
    "hang": Family(lambda _: (HANG,), ("--check-text", "no verdict|no answer", "--timeout", "6")),
    "hang at the start": Family(lambda _: (NEVER_GREETS,), ("--check-text", "hello within", "--timeout", "6")),
    "pair: a crash beside another": Family(
        lambda folder: (
            Faulty("tool_call", ":", start=f"echo $$ > {folder}/there; "),
            Faulty("tool_call", f"kill -0 $(cat {folder}/there) 2>/dev/null && exit 3"),
        ),
        ("--check-text", r"exit 3\b"),
    ),
    "pair: a rewrite of a rewrite": Family(
        lambda _: (_rewrites("hello", "h#llo"), _rewrites("h#llo", "h!llo")), ("--check-text", "h!llo")
    ),
}


def plant(home: Path, family: str, count: int, random: Random) -> tuple[str, ...]:
    """Writes `count` extensions into `home` and returns the names of the faulty ones. A third of the others are guards,
    a third observe."""
    members = FAMILIES[family].members(home)
    places = sorted(random.sample(range(count), len(members)))
    names = [f"ext{number:02}" for number in range(count)]
    for number, name in enumerate(names):
        if number in places:
            faulty = members[places.index(number)]
            _write(home, name, (), (faulty.guarded,), faulty.fault, faulty.start)
        else:
            event = random.choice(EVENTS)
            kind = random.choice(("guard", "observer", "bystander"))
            _write(home, name, (event,) if kind == "observer" else (), (event,) if kind == "guard" else ())
    return tuple(names[place] for place in places)


def _write(
    home: Path, name: str, events: tuple[str, ...], guarded: tuple[str, ...], fault: str = ":", start: str = ""
) -> None:
    folder = home / "extensions" / name
    folder.mkdir(parents=True)
    manifest = {"name": name, "exec": "/bin/sh", "args": ["run.sh"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    text = SCRIPT.format(
        name=name, events=json.dumps(list(events)), guarded=json.dumps(list(guarded)), fault=fault, start=start
    )
    (folder / "run.sh").write_text(text)
