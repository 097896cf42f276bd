"""Images of prompts and of steered messages: taken, scaled or refused."""

from __future__ import annotations

import base64
import os

import pytest

from agent.images import scaler
from agent.images.kinds import pixels
from tests.support.pictures import gif, png
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says


def wire_image(data, mime_type="image/png"):
    return {"mime_type": mime_type, "data": base64.b64encode(data).decode()}


def test_a_prompt_takes_whole_images_only(tmp_path, monkeypatch):
    monkeypatch.setattr(scaler, "can_scale", lambda: False)
    wide, less = wire_image(gif(9000, 1), "image/gif"), wire_image(gif(2001, 1), "image/gif")

    def script(client):
        for kind in ("prompt", "steer"):
            for images, why in (
                ([wire_image(b"")], "images[0].data: no PNG, JPEG, GIF or WebP"),
                (
                    [wire_image(gif(), "image/gif"), wire_image(png(3, 3)[:-7])],
                    "images[1].data: it is damaged: the PNG has no end",
                ),
                ([wide], "images[0].data: it has 9000 x 1 pixels, and the limit is 8000 per side; pip install"),
                ([less] * 21, "images[0].data: it has 2001 x 1 pixels, and the limit is 2000 per side in a prompt"),
                ([wire_image(gif(), "image/gif")] * 101, "images: 101 images, and a request to this model takes 100"),
            ):
                assert client.ask(kind, message="go", images=images)["error"].startswith(why)

    serve(tmp_path, ScriptedModel(), script)


def test_a_large_image_of_a_prompt_is_scaled_before_it_is_sent(tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    damaged = png(2400, 10).replace(b"IDAT\x78", b"IDAT\x07")

    def script(client):
        records = client.prompt("look", images=[wire_image(png(4000, 8))])
        assert records[0]["content"][1]["mime_type"] == "image/png"
        *_, error, result, _done = client.prompt("look", images=[wire_image(png(9, 9)), wire_image(damaged)])
        assert error["message"].startswith("images[1]: it cannot be decoded")
        assert (result["status"], result["steps"]) == ("error", 0)
        client.prompt("and now?")

    model = ScriptedModel(says("Wide."), says("Well."))
    serve(tmp_path, model, script)
    _, image = model.asked[0]["messages"][0]["content"]
    assert pixels(base64.b64decode(image["source"]["data"])) == (2000, 4)
    assert len(model.asked[1]["messages"]) == 3, "the prompt that failed is not in the conversation"


def test_a_steered_message_without_its_bad_image_still_has_its_words(tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    damaged = wire_image(png(2400, 10).replace(b"IDAT\x78", b"IDAT\x07"))
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="go")
        client.until("tool_call")
        assert client.ask("steer", message="and this", images=[damaged])["success"]
        gate.write_text("")
        client.until("done")

    model = ScriptedModel(says("", ("t1", "bash", {"command": f"cat {gate}"})), says("Well."))
    serve(tmp_path, model, script)
    (words,) = model.asked[1]["messages"][-1]["content"]
    assert words["text"].startswith("and this\n\n[the images of this message are left out: images[0]: it cannot be ")
