"""Situations of installing, trusting and reloading."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.host_process import Hosted
from tests.support.install_sources import source
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


def of_the_project(stage: Stage) -> None:
    stage.file(".zot/extensions/desk/extension.json", json.dumps({"name": "desk", "exec": "./run"}))
    stage.file(".zot/extensions/desk/run", "#!/bin/sh\n").chmod(0o755)


@situation("zot ext install: '…' is installed already: …")
def installed_twice(stage: Stage) -> str:
    folder = source(stage.zot.folder / "guard")
    stage.zot.run("ext", "install", folder)
    return stage.zot.run("ext", "install", folder).stderr


@situation("zot: extension … of this project is not trusted (never seen): not started; …")
def not_trusted(stage: Stage) -> str:
    of_the_project(stage)
    return stage.answered().stderr


@situation("zot: extension … of this project is not trusted (its files have changed): not started; …")
def changed_since(stage: Stage) -> str:
    of_the_project(stage)
    stage.zot.run("ext", "trust", "desk", "--yes")
    stage.file(".zot/extensions/desk/run", "#!/bin/sh\nexit 1\n")
    return stage.answered().stderr


@situation("zot: extension …: … has changed since it was checked; nothing may write there while it starts")
def writes_while_it_starts(stage: Stage) -> str:
    of_the_project(stage)
    hello = '{"type":"hello","name":"desk"}'
    stage.file(".zot/extensions/desk/run", f"#!/bin/sh\ntouch extension.json\necho '{hello}'\nexec cat\n")
    stage.zot.run("ext", "trust", "desk", "--yes")
    return stage.answered().stderr


@situation("… reloaded; its source is newer: zot ext update …")
def source_is_newer(stage: Stage) -> str:
    made = stage.extension("echo")
    stage.zot.run("ext", "install", made)
    with stage.zot.start("host") as running:
        hosted = Hosted(stage.zot, running)
        hosted.settle()
        hosted.client.close()
        (made / "notes.txt").write_text("a change")
        outcome = stage.zot.run("ext", "reload", "echo")
        return outcome.text + outcome.stderr


@situation("zot ext trust: … not trusted yet: name one, or zot ext trust --project for all")
def waits_for_trust(stage: Stage) -> str:
    of_the_project(stage)
    return stage.zot.run("ext", "trust").stderr
