"""The figures of the runs that are attached to this host: of each session at each extension, and for a run its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.monitoring.sharing_figures import Sharing, SharingFigures
from supervisor.sharing.session_use import sum_of
from wire.attach import Use
from wire.stats import SessionStats
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.extension.extension import Extension
    from supervisor.sharing.attached_run import AttachedRun
    from supervisor.sharing.attachment import Attachment
    from supervisor.sharing.offers import Offers
    from supervisor.sharing.served_extension import ServedExtension
    from supervisor.sharing.session_use import RunUse
    from supervisor.supervisor import Supervisor

SESSIONS_LIMIT = 100
"""Maximum number of sessions of an extension that are told one by one: the busiest. The others are added up."""
SHARE = 0.02
"""Fraction of one core that sampling for runs that end may use: a run may be over before the next usual sample."""


class HostSharing(Sharing):
    """The figures of a host. `runs` and `served` are those of its `AttachServer`, at any time."""

    def __init__(
        self,
        supervisor: Supervisor,
        runs: Mapping[int, AttachedRun],
        served: Mapping[str, ServedExtension],
        offers: Offers,
    ) -> None:
        self._supervisor = supervisor
        self._runs = runs
        self._served = served
        self._offers = offers

    @property
    def attached_runs(self) -> int:
        return len(self._runs)

    def figures(self, extension: Extension) -> SharingFigures:
        mode = self._offers.mode(extension)[0]
        if (served := self._served.get(extension.name)) is None:
            return SharingFigures(mode)  # type: ignore[arg-type]
        attached = list(served.runs.values())
        attached.sort(key=lambda each: (each.use.busy_s, each.use.calls), reverse=True)
        busiest, more = attached[:SESSIONS_LIMIT], attached[SESSIONS_LIMIT:]
        others = sum_of([served.uses.gone, *(each.use for each in more)])
        return SharingFigures(
            mode,  # type: ignore[arg-type]
            len(attached),
            tuple(_session(served, each) for each in busiest),
            _stats(served, others) if others.runs else None,
        )

    def use_of(self, run: AttachedRun, *, is_last: bool) -> Use:
        """The use of each extension by a run so far; with `is_last` as of now, within what `SHARE` allows."""
        sampler = self._supervisor.sampler
        cost_s = sampler.cpu_s / max(1, sampler.samples)
        if is_last and self._supervisor.loop.clock() - sampler.sampled_at > cost_s / SHARE:
            self._supervisor.sample()
        return Use(
            {
                name: replace(served.use_of(each.use), rss_peak_bytes=served.extension.account.rss_peak)
                for name, (served, each) in run.taken.items()
            }
        )


def _session(served: ServedExtension, attachment: Attachment) -> SessionStats:
    run = attachment.run
    told = _stats(served, attachment.use)
    return replace(
        told, session_id=valid_text(run.session.id), pid=run.pid, cwd=valid_text(run.session.cwd),
        since=attachment.use.since,
    )  # fmt: skip


def _stats(served: ServedExtension, use: RunUse) -> SessionStats:
    told = served.use_of(use)
    return SessionStats(
        told.calls, told.errors, told.timeouts, use.under_way, told.frames_in, told.frames_out, told.busy_s, told.cpu_s,
        count=use.runs,
    )  # fmt: skip
