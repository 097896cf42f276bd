"""Evaluates a model: asks each question in a process of its own, compares the answers, sums up by category.

    ANTHROPIC_API_KEY=… python evaluate.py questions.jsonl runs/today

A line of the questions: {"id": "a", "prompt": "What is 7 * 8?", "meta": {"expected": "56", "category": "sums"}}.
The same command once more goes on where it was stopped; what is done costs nothing again.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from pyzot import Batch, BatchSummary, TaskResult

SHORT = "Answer with the result alone: no sentence, no unit."


def is_right(result: TaskResult) -> bool:
    """The scorer. A task that failed is wrong."""
    return result.status == "ok" and result.text.strip(" .\n").lower() == result.meta["expected"].lower()


def evaluate(questions: Path, folder: Path) -> BatchSummary:
    tasks = [json.loads(line) for line in questions.read_text().splitlines()]
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    with Batch(tasks, folder, jobs=8, no_tools=True, append_system_prompt=SHORT, max_cost_usd=5) as batch:
        for result in batch:
            asked[result.meta["category"]] += 1
            if is_right(result):
                right[result.meta["category"]] += 1
            else:
                print(f"wrong: {result.id}: {result.text or result.reason!r}, not {result.meta['expected']}")
    for category, count in sorted(asked.items()):
        print(f"{category}: {right[category]} of {count} ({right[category] / count:.0%})")
    return batch.wait()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    summary = evaluate(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{summary.reason}: {summary.statuses}, ${summary.known_cost_usd:.4f}")
    sys.exit(summary.exit_code)
