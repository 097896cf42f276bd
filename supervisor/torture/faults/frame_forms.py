"""Slow, split and doubled frames, cut and foreign lines, unknown frames and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.steps import NotHeldError

if TYPE_CHECKING:
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

FRAME_FORMS = Family("frames")


@FRAME_FORMS.add("one-byte-at-a-time", "a call in single bytes", "It waits for the whole frame, and answers it.")
def one_byte_at_a_time(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = trial.player.question()
    yield from trial.player.write_slowly(asked.data, [1] * (len(asked.data) - 1), 0.0005)
    yield from trial.player.awaits([asked], "in single bytes")


@FRAME_FORMS.add(
    "split-anywhere",
    "several calls in pieces that end anywhere, also within a character",
    "It joins the pieces, and answers each call once.",
)
def split_anywhere(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    asked = [player.question("ä€😀") for _ in range(5)]
    data = b"".join(each.data for each in asked)
    sizes: list[int] = []
    while sum(sizes) < len(data):
        sizes.append(trial.rng.randint(1, 40))
    yield from player.write_slowly(data, sizes, 0.001)
    yield from player.awaits(asked, "in pieces")
    player.is_answered_once(asked)


@FRAME_FORMS.add(
    "many-in-one-write", "ten calls in one write", "It reads all frames of a chunk, and answers each call once."
)
def many_in_one_write(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = [trial.player.question() for _ in range(10)]
    trial.player.write(b"".join(each.data for each in asked))
    yield from trial.player.awaits(asked, "in one write")
    trial.player.is_answered_once(asked)


@FRAME_FORMS.add(
    "one-and-a-half",
    "a call and the first half of the next one in one write, the rest later",
    "It answers the first call without waiting for more, and then the second one.",
)
def one_and_a_half(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    first, second = player.question(), player.question()
    at = trial.rng.randint(1, len(second.data) - 2)
    player.write_start(first.data + second.data[:at])
    yield from player.awaits([first], "while the next frame was not complete")
    player.write_rest(second.data[at:])
    yield from player.awaits([second], "in two pieces")


@FRAME_FORMS.add(
    "doubled-call",
    "one call given twice, with the same id",
    "It answers at least one of the two, does not crash, and answers the next call.",
)
def doubled_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    asked = player.question()
    player.write(asked.data * 2)
    yield from player.awaits([asked], "that was given twice")
    yield from player.works("after a call was given twice")
    if player.count(asked) > 2 and not trial.subject.answers_twice:
        raise NotHeldError("it answered a call that was given twice more than twice")


@FRAME_FORMS.add(
    "doubled-greeting",
    "the host's answer to its hello given twice",
    "It takes the second one as the first, or ignores it, and goes on.",
)
def doubled_greeting(trial: Trial) -> Steps:
    player = trial.launch()
    sent: list[bytes] = []
    session = player.process.channel.session
    greet = session.greet

    def keep(*about: object) -> bytes:
        sent.append(greet(*about))  # type: ignore[arg-type]
        return sent[0]

    session.greet = keep  # type: ignore[assignment, method-assign]
    yield from player.gets_ready()
    player.write(b"".join(sent))
    yield from player.works("after a second answer to its hello")


@FRAME_FORMS.add(
    "cut-line",
    "the first half of a call as a line of its own, and a whole call behind it",
    "It skips the half, and answers the whole call.",
)
def cut_line(trial: Trial) -> Steps:
    trial.needs_answers()
    trial.needs_lines()
    yield from trial.start()
    player = trial.player
    cut = player.question().data
    player.write(cut[: trial.rng.randint(2, len(cut) - 3)] + trial.forms.separator)
    yield from player.works("after half a line")


@FRAME_FORMS.add("empty-lines", "empty lines between frames", "It skips them, and answers the next call.")
def empty_lines(trial: Trial) -> Steps:
    trial.needs_lines()
    yield from trial.start()
    trial.player.write(trial.forms.separator * trial.rng.randint(1, 20))
    yield from trial.player.works("after empty lines")


@FRAME_FORMS.add(
    "lines-that-are-no-frames",
    "lines that are no JSON, or JSON but no frame: text, a list, a number, null, {}",
    "It skips them, writes nothing that is no frame, and answers the next call.",
)
def lines_that_are_no_frames(trial: Trial) -> Steps:
    trial.needs_lines()
    yield from trial.start()
    lines = list(trial.forms.junk)
    trial.rng.shuffle(lines)
    for line in lines:
        trial.player.write(line)
        yield from trial.player.works(f"after the line {line.decode().strip()}")


@FRAME_FORMS.add(
    "bytes-that-are-no-text",
    "a line with bytes that are no UTF-8, and one with control characters",
    "It skips the line, or reads it with replacement characters, and answers the next call.",
)
def bytes_that_are_no_text(trial: Trial) -> Steps:
    trial.needs_lines()
    yield from trial.start()
    noise = bytes(byte for byte in trial.rng.randbytes(200) if byte not in b"\n")
    for line in (b"\xff\xfe\x80", noise, b"\x00\x01\x1b[31m"):
        trial.player.write(line + trial.forms.separator)
        yield from trial.player.works("after bytes that are no text")


@FRAME_FORMS.add(
    "unknown-frames",
    "frames of types that do not exist",
    "It ignores them, as later versions of the protocol may have more, and answers the next call.",
)
def unknown_frames(trial: Trial) -> Steps:
    yield from trial.start()
    for frame in trial.forms.unknown():
        trial.player.write(trial.forms.pack(frame))
    yield from trial.player.works("after unknown frames")


@FRAME_FORMS.add(
    "unknown-fields", "a call with fields that do not exist", "It ignores the fields, and answers the call once."
)
def unknown_fields(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    asked = player.packed(trial.forms.with_unknown_fields(player.question().frame))
    player.write(asked.data)
    yield from player.awaits([asked], "with unknown fields")


@FRAME_FORMS.add(
    "wrong-types",
    "known frames whose fields have wrong types, or are missing",
    "It refuses or ignores them, and answers the next call.",
)
def wrong_types(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    for frame in trial.forms.wrong(trial.player.question().frame):
        trial.player.write(trial.forms.pack(frame))
        yield from trial.player.works("after a frame with fields of wrong types")


@FRAME_FORMS.add(
    "answers-to-nothing",
    "answers of the host to questions that it was never asked",
    "It ignores them, and answers the next call.",
)
def answers_to_nothing(trial: Trial) -> Steps:
    yield from trial.start()
    for frame in trial.forms.unasked():
        trial.player.write(trial.forms.pack(frame))
    yield from trial.player.works("after answers to nothing")
