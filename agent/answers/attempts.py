"""The attempts of one prompt at an answer that fits the schema: the final text, and one more after it. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from agent.answers.checked_text import CheckedText, repair_request

if TYPE_CHECKING:
    from agent.answers.schema import AnswerSchema


class Stage(Enum):
    FIRST = "first"
    """No text was judged yet."""
    OWED = "owed"
    """The first one does not fit, and the model has still to hear of it."""
    SECOND = "second"
    """The model has heard of it."""
    FAILED = "failed"
    """The second one does not fit either."""
    FITS = "fits"


class Attempts:
    """Holds the final texts of a prompt against the schema; `checked` is the last one."""

    def __init__(self, schema: AnswerSchema) -> None:
        self._schema = schema
        self.stage = Stage.FIRST
        self.checked = CheckedText("")
        self._is_rewritten = False

    def judge(self, text: str, *, is_rewritten: bool) -> Stage:
        """Holds a text against the schema. `is_rewritten`: a guard has put it in the place of the model's own."""
        self.checked, self._is_rewritten = self._schema.check(text), is_rewritten
        if self.checked.fits:
            self.stage = Stage.FITS
        else:
            self.stage = Stage.OWED if self.stage is Stage.FIRST else Stage.FAILED
        return self.stage

    def take_request(self) -> str | None:
        """The words with which the model is asked once more, if it has still to hear them."""
        if self.stage is not Stage.OWED:
            return None
        self.stage = Stage.SECOND
        return repair_request(self.checked, is_rewritten=self._is_rewritten)

    @property
    def fault(self) -> str:
        """For a person: what is wrong with the last text; "" if none was judged or it fits."""
        if not self.checked.faults:
            return ""
        answer = "the answer, as a guard has rewritten it," if self._is_rewritten else "the answer"
        more = ", also after one more turn" if self.stage is Stage.FAILED else ""
        return f"{answer} does not fit --output-schema{more}: {self.checked.summary}"
