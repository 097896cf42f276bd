"""`Runtime`: an agent in a child process, for programs with or without threads."""

from __future__ import annotations

import base64
import os
import warnings

from .answers import CommandInfo, CommandOutcome, ExtensionStats, ModelInfo, State, ToolInfo
from .client import Client
from .errors import ClosedError, PromptFailed, ProtocolError, RefusedError
from .events import Error, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any, Self, Unpack

    from .client import Answer
    from .command_line import Options
    from .parts import Totals
    from .prompt_stream import PromptStream
    from .record import Event

    Image = bytes | str | Path | Mapping[str, str]
    Message = dict[str, Any]

IMAGE_STARTS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


class Runtime:
    """An agent with its extensions, one conversation long. The options are the flags of `zot`, by their names.

        with Runtime(model="claude-sonnet-5") as zot:
            for event in zot.prompt("what does this project do?"):
                match event:
                    case TextDelta(delta):
                        print(delta, end="")

    All methods may be called from any thread. One prompt runs at a time: a second one is a `BusyError`. After the end
    of the engine each call raises `RuntimeDied`; after `close`, `ClosedError`.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Starts the engine and waits for its greeting. `env` is added to the environment, `program` is run instead of
        this Python's zot, `on_event` gets the events that belong to no prompt and `on_stderr` the engine's lines for a
        person, both in a thread of the runtime."""
        self._client = Client(options, env=env, program=program, on_event=on_event, on_stderr=on_stderr)
        self._is_closed = False
        try:
            self._greeting = self._client.ask("hello")
        except BaseException:
            self.close()
            raise

    # --- prompts --------------------------------------------------------------------------------------------

    def prompt(self, text: str, images: Sequence[Image] = ()) -> EventStream:
        """Sends a prompt. Returns its events, as they come, `Done` the last. Closing them, or leaving them before the
        end, aborts the prompt. Raises `BusyError`, and `RefusedError` for a prompt that the engine does not take."""
        stream, answer = self._client.begin(
            "prompt", message=text, images=[image_data(image) for image in images] or None
        )
        return EventStream(self._client, stream, answer)

    def run(self, text: str, images: Sequence[Image] = (), *, check: bool = False) -> Result:
        """Sends a prompt and waits for its end. Returns its result: `text`, `status`, `usage`, `cost_usd`, `steps`, and
        in `extensions` what each extension has cost. With `check`, raises `PromptFailed` if the status is not ok."""
        events = self.prompt(text, images)
        for _ in events:
            pass
        if events.result is None:
            raise ProtocolError("the prompt has ended without a result")
        if check and events.result.status != "ok":
            raise PromptFailed(events.result)
        return events.result

    def cancel(self) -> None:
        """Aborts the prompt that runs; its events end soon. Does nothing if none runs. May be called from anywhere, a
        signal handler and a handler of an extension included."""
        self._client.cancel()

    def steer(self, text: str, images: Sequence[Image] = ()) -> None:
        """Gives the prompt that runs another message, before its next turn. Raises `RefusedError` if none runs."""
        self._client.ask("steer", message=text, images=[image_data(image) for image in images] or None)

    def compact(self, instructions: str | None = None) -> str:
        """Replaces the older messages by a summary, which it returns. Raises `RefusedError` if there is nothing to
        compact, or if the model fails."""
        stream, answer = self._client.begin("compact", instructions=instructions)
        summary, reason = "", ""
        for event in EventStream(self._client, stream, answer):
            summary = getattr(event, "summary", "") or summary
            reason = event.message if isinstance(event, Error) else getattr(event, "error", None) or reason
        if not summary:
            raise RefusedError(reason)
        return summary

    # --- the conversation -----------------------------------------------------------------------------------

    def clear(self) -> None:
        """Drops all messages. `RefusedError` while a prompt runs."""
        self._client.ask("clear")

    def messages(self) -> list[Message]:
        """All messages of the conversation, as plain JSON: to be kept, and given to `set_messages` of another
        runtime."""
        found: list[Message] = self._client.ask("get_messages", full=True)["messages"]
        return found

    def set_messages(self, messages: Sequence[Message]) -> None:
        """Replaces all messages. `RefusedError` if the model would not take them."""
        self._client.ask("set_messages", messages=list(messages))

    def set_model(self, model: str) -> None:
        """Asks this model from the next turn on."""
        self._client.ask("set_model", model=model)

    def list_models(self) -> list[ModelInfo]:
        """The models that are known."""
        return [ModelInfo.read(found) for found in self._client.ask("get_models")["models"]]

    def state(self) -> State:
        """The provider, the model, the folder, the number of messages, whether a prompt runs, and the use so far."""
        return State.read(self._client.ask("get_state"))

    @property
    def cost(self) -> Totals:
        """Tokens and dollars of all prompts together."""
        return self.state().usage

    # --- extensions -----------------------------------------------------------------------------------------

    def command(self, line: str) -> CommandOutcome:
        """Runs a slash command of an extension, such as `"/todo add milk"`. `RefusedError` if it fails."""
        name, _, args = line.strip().removeprefix("/").partition(" ")
        return CommandOutcome.read(self._client.ask("run_command", timeout_s=None, name=name, args=args.strip()))

    def commands(self) -> list[CommandInfo]:
        """The slash commands of the extensions."""
        return [CommandInfo.read(found) for found in self._client.ask("list_commands")["commands"]]

    def tools(self) -> list[ToolInfo]:
        """The tools that the model is offered in the next turn."""
        return [ToolInfo.read(found) for found in self._client.ask("list_tools")["tools"]]

    def stats(self) -> dict[str, ExtensionStats]:
        """What each extension uses."""
        found = self._client.ask("ext_stats")["extensions"]
        return {name: ExtensionStats.read(figures) for name, figures in found.items()}

    # --- the end --------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Of the engine's process."""
        return self._client.process.pid

    def close(self) -> None:
        """Aborts what runs, ends the engine and its extensions, and waits for their end. A second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            warnings.warn("a Runtime was not closed", ResourceWarning, stacklevel=2)
            self.close()


class EventStream:
    """The events of a prompt, an iterator. `result` is there at the end."""

    def __init__(self, client: Client, stream: PromptStream, answer: Answer) -> None:
        self._client = client
        self._stream = stream
        if not client.process.is_own_thread:
            answer.wait(None)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self._stream.take()
        if event is None:
            raise StopIteration
        return event

    @property
    def result(self) -> Result | None:
        """How the prompt has ended; None before that."""
        return self._stream.result

    def close(self) -> None:
        """Aborts the prompt if it has not ended, and waits for its end."""
        if not self._stream.is_over:
            self._client.cancel()
            try:
                self._stream.wait_over()
            except (ClosedError, ProtocolError):
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if stream is not None and not stream.is_over:
            self._client.cancel()


def image_data(image: Image) -> dict[str, str]:
    """An image as the engine takes it: from its bytes, from a file, or as it is, with `mime_type` and `data`. Raises
    `OSError` and `ValueError`."""
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            image = file.read()
    if not isinstance(image, (bytes, bytearray)):
        return dict(image)
    mime_type = next((kind for start, kind in IMAGE_STARTS.items() if image.startswith(start)), None)
    if mime_type is None:
        raise ValueError("not an image that models take: PNG, JPEG, GIF or WebP")
    return {"mime_type": mime_type, "data": base64.b64encode(image).decode()}
