"""A final text held against a schema: what is wrong with it, how the model is asked once more, and the attempts of one
prompt at a text that fits. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

FAULTS_IN_A_REASON = 3


class CheckedText(msgspec.Struct, frozen=True):
    """Whether a text fits."""

    text: str
    """The JSON alone, without the fence, if the text fits; else the text as it was."""
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


class AnswerStage(Enum):
    FIRST = "first"
    """No text was judged yet."""
    OWED = "owed"
    """The first one does not fit, and the model has still to hear of it."""
    SECOND = "second"
    """The model has heard of it."""
    FAILED = "failed"
    """The second one does not fit either."""
    FITS = "fits"


class AnswerAttempts:
    """Holds the final texts of a prompt against the schema; `checked` is the last one."""

    def __init__(self, check: Callable[[str], CheckedText]) -> None:
        """`check` holds a text against the schema."""
        self._check = check
        self.stage = AnswerStage.FIRST
        self.checked = CheckedText("")
        self._is_rewritten = False

    def judge(self, text: str, *, is_rewritten: bool) -> AnswerStage:
        """Holds a text against the schema. `is_rewritten`: a guard has put it in the place of the model's own."""
        self.checked, self._is_rewritten = self._check(text), is_rewritten
        if self.checked.fits:
            self.stage = AnswerStage.FITS
        else:
            self.stage = AnswerStage.OWED if self.stage is AnswerStage.FIRST else AnswerStage.FAILED
        return self.stage

    def take_request(self) -> str | None:
        """The words with which the model is asked once more, if it has still to hear them."""
        if self.stage is not AnswerStage.OWED:
            return None
        self.stage = AnswerStage.SECOND
        return repair_request(self.checked, is_rewritten=self._is_rewritten)

    @property
    def fault(self) -> str:
        """For a person: what is wrong with the last text; "" if none was judged or it fits."""
        if not self.checked.faults:
            return ""
        answer = "the answer, as a guard has rewritten it," if self._is_rewritten else "the answer"
        more = ", also after one more turn" if self.stage is AnswerStage.FAILED else ""
        return f"{answer} does not fit --output-schema{more}: {self.checked.summary}"
