"""All faults, in the order of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.torture.faults.argument_values import ARGUMENTS, TEXTS
from supervisor.torture.faults.frame_forms import FRAME_FORMS
from supervisor.torture.faults.input_ends import INPUT_ENDS
from supervisor.torture.faults.kills import KILLS
from supervisor.torture.faults.sessions import SESSIONS
from supervisor.torture.faults.shutdowns import SHUTDOWNS
from supervisor.torture.faults.signals import SIGNALS
from supervisor.torture.faults.storms import STORMS
from supervisor.torture.faults.surroundings import SURROUNDINGS

if TYPE_CHECKING:
    from supervisor.torture.fault import Family, Fault

FAMILIES: tuple[Family, ...] = (
    SHUTDOWNS, KILLS, INPUT_ENDS, FRAME_FORMS, STORMS, SURROUNDINGS, ARGUMENTS, TEXTS, SESSIONS, SIGNALS,
)  # fmt: skip
FAULTS: tuple[Fault, ...] = tuple(fault for family in FAMILIES for fault in family.faults)
