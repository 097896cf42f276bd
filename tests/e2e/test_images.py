"""Images that go with a prompt, from the command line to what the model's server gets."""

from __future__ import annotations

import base64
import signal

import pytest

from agent.images.kinds import pixels
from tests.support.messages_server import text_reply
from tests.support.pictures import gif, png
from tests.support.zot_process import check_transcript
from wire.events import ImageContent, UserMessage
from wire.exit_codes import Status

WIDE = png(4000, 8)


def sent(content):
    """The images in the content of a message to the server, decoded."""
    return [base64.b64decode(part["source"]["data"]) for part in content if part["type"] == "image"]


def test_images_go_with_the_words_scaled_into_the_session_and_the_cassette(zot, server):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (zot.cwd / "wide.jpg").write_bytes(WIDE)
    (zot.cwd / "dot").write_bytes(gif())
    server.add(text_reply("Two."))
    images = ["--image", zot.cwd / "wide.jpg", "--image", zot.cwd / "dot"]
    cassette = zot.folder / "c.jsonl"
    outcome = zot.run("--json", "--base-url", server.base_url, "--record", cassette, *images, "how many?")
    outcome.check(Status.OK)
    assert "zot: --image " in outcome.stderr
    assert "wide.jpg: scaled from 4000 x 8 pixels to 2000 x 4 pixels" in outcome.stderr

    words, *rest = server.requests[0].body["messages"][0]["content"]
    assert words["text"] == "how many?"
    scaled, dot = sent(rest)
    assert (pixels(scaled), dot) == ((2000, 4), gif())
    assert [part["source"]["media_type"] for part in rest] == ["image/png", "image/gif"]
    (shown,) = outcome.of(UserMessage)
    assert shown.content[1:] == (ImageContent("image/png", len(scaled)), ImageContent("image/gif", len(gif())))
    check_transcript(zot.session_rows())
    assert base64.b64encode(scaled).decode() in str(zot.session_rows())

    replayed = zot.run("-p", "--replay", cassette, *images, "how many?")
    assert (replayed.status, replayed.text) == (0, "Two.\n"), replayed.stderr
    other = zot.run("-p", "--replay", cassette, *images[:2], "how many?")
    assert other.status == Status.ERROR.exit_code, "another image is another request"


def test_an_image_alone_is_a_prompt_and_the_first_bad_file_ends_all_before_it_begins(zot, server):
    (zot.cwd / "dot.gif").write_bytes(gif())
    (zot.cwd / "text.png").write_text("hello")
    server.add(text_reply("A dot."))
    flags = ["-p", "--base-url", server.base_url, "--image", zot.cwd / "dot.gif"]
    outcome = zot.run(*flags)
    assert (outcome.status, outcome.text) == (0, "A dot.\n"), outcome.stderr
    assert sent(server.requests[0].body["messages"][0]["content"]) == [gif()]
    before = sorted(zot.home.rglob("*"))
    refused = zot.run(*flags, "--image", zot.cwd / "text.png", "--record", zot.folder / "c").refusal()
    assert refused == f"zot: --image {zot.cwd}/text.png: its content is no PNG, JPEG, GIF or WebP"
    assert sorted(zot.home.rglob("*")) == before
    assert not (zot.folder / "c").exists()


def test_a_signal_while_an_image_is_scaled_leaves_nothing(zot, tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("open('/dev/zero').read(1) and print(end='')\nwhile True: pass\n")
    (zot.cwd / "wide.png").write_bytes(WIDE)
    zot.env["PYTHONPATH"] = f"{tmp_path}:{zot.env['PYTHONPATH']}"
    with zot.start("-p", "--base-url", "http://127.0.0.1:9", "--image", zot.cwd / "wide.png", "go") as running:
        running.child("scale_main.py")
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (130, b"", [])
    assert "Traceback" not in outcome.stderr
