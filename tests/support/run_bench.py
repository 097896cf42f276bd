"""Prompts of one conversation in this process, with a scripted model and real tools."""

from __future__ import annotations

from contextlib import contextmanager

from agent.abort import Abort
from agent.options import Options
from agent.output.event_writer import EventWriter
from agent.run.conversation import Conversation
from agent.run.limits import Spending
from agent.run.run import Run
from agent.run.steer_queue import SteerQueue
from agent.tools.toolbox import Toolbox
from agent.transcript import text_of
from supervisor.loop.loop import Loop
from supervisor.process.teardown import stop_all
from supervisor.supervisor import Supervisor
from tests.support.scripted_model import ScriptedModel
from wire import events
from wire.dialects.base import HostInfo
from wire.exit_codes import Status


class Bench:
    """`records` are those of all prompts; `on_record` hears each, and the prompt ends after `abort_after` of them."""

    def __init__(self, loop, folder, *replies, budget=None, **options):
        self.records, self.abort, self.steering = [], Abort(), SteerQueue()
        self.abort_after = None
        self.on_record = lambda _record: None
        self.model = ScriptedModel(*replies)
        self.conversation = Conversation(None, Spending(budget))
        self.options = Options(
            **{"cwd": str(folder), "home": folder, "model": "m", "reply_tokens": 100, "system": "s", **options}
        )
        host = HostInfo("1", "scripted", self.options.model, str(folder))
        self.supervisor = Supervisor(loop, host=host, logs=folder / "logs")
        self.event_writer = EventWriter(loop, self.abort, self._take)
        self.event_writer._open = True
        self.toolbox = Toolbox(
            loop, self.supervisor, cwd=str(folder), enabled={"read", "write", "edit", "bash"},
            on_progress=lambda call_id, text: self.event_writer.post_progress(events.ToolProgress(call_id, text)),
        )  # fmt: skip
        self.run = self.new_run()

    def new_run(self):
        return Run(
            self.options, supervisor=self.supervisor, provider=self.model, toolbox=self.toolbox,
            event_writer=self.event_writer, conversation=self.conversation, abort=self.abort, steering=self.steering,
        )  # fmt: skip

    def _take(self, record):
        self.records.append(record)
        self.on_record(record)
        if len(self.records) == self.abort_after:
            self.abort.request(Status.INTERRUPTED, "enough")

    def once_after(self, kind, act):
        """Acts at the first record of this kind."""

        def on_record(record):
            if isinstance(record, kind):
                self.on_record = lambda _record: None
                act()

        self.on_record = on_record

    def kinds(self):
        return [type(record).__name__ for record in self.records]

    def users(self):
        """The user messages that the model got."""
        return [text_of(message.content) for message in self.conversation.transcript if message.role == "user"]


@contextmanager
def running(folder, *replies, **options):
    loop = Loop()
    made = Bench(loop, folder, *replies, **options)
    try:
        yield made
    finally:
        stop_all(loop, made.toolbox.stoppables())
        loop.close()
