"""Two agents talk: one writes a file, the other one reviews it, for three rounds at most.

    ANTHROPIC_API_KEY=… python two_agents.py notes.md "How to start this project, for a newcomer."

Each is a process of its own with its own conversation, tools and instructions. The reviewer can read, and nothing else.
"""

import sys

from pyzot import PromptFailed, Runtime

ROUNDS = 3
REVIEWER = "You review texts. Say OK, and nothing else, if a text needs no change; else say in a few words what does."


def talk(writer: Runtime, reviewer: Runtime, file: str, task: str) -> bool:
    """Returns whether the reviewer is content in the end. Raises `PromptFailed`."""
    wish = f"Write the file {file}: {task}"
    for number in range(1, ROUNDS + 1):
        said = writer.run(wish, check=True).text
        print(f"{number}. writer: {said}")
        verdict = reviewer.run(f"Review {file}, written for this task: {task}", check=True).text
        print(f"{number}. reviewer: {verdict}")
        if verdict.strip().rstrip(".").upper() == "OK":
            return True
        wish = f"Change {file} as the reviewer wishes: {verdict}"
    return False


def main(file: str, task: str) -> int:
    with (
        Runtime(tools=["read", "write", "edit"], max_steps=10) as writer,
        Runtime(tools=["read"], max_steps=10, append_system_prompt=REVIEWER) as reviewer,
    ):
        try:
            is_content = talk(writer, reviewer, file, task)
        except PromptFailed as failure:
            print(failure)
            return 1
        finally:
            for name, agent in (("writer", writer), ("reviewer", reviewer)):
                print(f"{name}: {agent.cost.input} tokens in, {agent.cost.output} out, ${agent.cost.cost_usd}")
    return 0 if is_content else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
