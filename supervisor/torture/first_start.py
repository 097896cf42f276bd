"""A start without a fault, which says what the extension can be asked and how long that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.harness.harness import QUIET_S
from supervisor.torture.probe import ProbeKind, choose_probe
from supervisor.torture.steps import Wait

if TYPE_CHECKING:
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Subject, Trial

FIRST_CALL_S = 60.0
"""Seconds for the first answer."""
SLOWNESS = 20.0
"""Later answers may take this many times as long as the first one did."""
LEAST_ANSWER_S = 10.0


def get_to_know(trial: Trial, subject: Subject) -> Steps:
    """Fills in `subject`. Raises `NotHeldError` if the extension does not start or does not answer."""
    yield from trial.start()
    player = trial.player
    yield Wait(lambda: not player.is_running, QUIET_S)  # late registrations
    registry = player.process.registry
    can_ping = bool(player.process.channel.session.ping("p")) and player.process.can_ping
    subject.probe = probe = choose_probe(
        registry.tools.values(), registry.command_names, registry.guards, can_ping=can_ping
    )
    if probe is not None and probe.kind is ProbeKind.TOOL:
        subject.tool = registry.tools[probe.name]
    subject.commands = registry.command_names
    subject.observes = sorted(registry.observes)
    player.answer_s, player.probe = FIRST_CALL_S, probe
    began = trial.now
    yield from player.works("without any fault")
    subject.call_s = trial.now - began
    subject.answer_s = max(LEAST_ANSWER_S, SLOWNESS * subject.call_s)
    yield Wait(lambda: bool(player.surplus(player.asked)), QUIET_S)
    subject.answers_twice = bool(player.surplus(player.asked))
    subject.writes_junk = bool(player.junk)
