"""A final text held against a schema: what is wrong with it, and how the model is asked once more. Pure."""

from __future__ import annotations

import msgspec

FAULTS_IN_A_REASON = 3


class CheckedText(msgspec.Struct, frozen=True):
    """Whether a text fits."""

    text: str
    """Of a text that fits the JSON alone, without the fence; else as it was."""
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The JSON on one line, as the model wrote it; unset if it does not fit."""
    faults: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.faults

    @property
    def summary(self) -> str:
        """The first faults, for a reason."""
        shown, left = self.faults[:FAULTS_IN_A_REASON], len(self.faults) - FAULTS_IN_A_REASON
        return "; ".join(shown) + (f"; and {left} more" if left > 0 else "")


def repair_request(checked: CheckedText, *, is_rewritten: bool = False) -> str:
    """The user message after a text that does not fit. `is_rewritten`: it is not what the model wrote."""
    faults = "\n".join(f"- {fault}" for fault in checked.faults)
    what = "A guard of messages has rewritten your answer, and as it is now, it" if is_rewritten else "Your answer"
    return (
        f"{what} does not fit the JSON Schema in the system prompt:\n"
        f"{faults}\n"
        "Answer once more, with the whole corrected JSON and nothing else."
    )
