"""Writes the recording of examples/culprit, a run from before its extension had a fault. Run it with `python -m`."""

from __future__ import annotations

from pathlib import Path

from tests.support.replay_script import Script, ok

FOLDER = Path(__file__).parents[1] / "examples" / "culprit"
WORDS = ("alpha", "beta", "gamma")


def script(folder: Path) -> Script:
    """The conversation: three words are looked up."""
    made = Script(folder, prompt="Count the letters.", extra={"lookup": "Looks a word up."})
    for word in WORDS:
        made = made.call(("lookup", {"word": word}), results=[ok(f"{word}: {len(word)} letters")])
    return made.answer("alpha has 5 letters, beta 4, gamma 5.")


if __name__ == "__main__":
    script(FOLDER).write(FOLDER / "run.jsonl")
