"""Output to a terminal in one write per frame: lines above the drawn part, and the drawn part again below them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.application import Application
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output


class FrameOutput(Vt100_Output):
    """Keeps all output within `frame` until its end. It never asks for the cursor's place: a slow terminal would answer
    late, and its answer would be taken for keys."""

    _is_held = False

    @classmethod
    def on_stdout(cls) -> FrameOutput:
        """The output of this process's terminal."""
        depth = ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None
        output = cls.from_pty(sys.stdout, term=os.environ.get("TERM"), default_color_depth=depth, enable_bell=False)
        output.enable_cpr = False
        assert isinstance(output, cls)
        return output

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Writes everything at the end at once."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self.flush()

    def flush(self) -> None:
        if not self._is_held:
            super().flush()


def print_above(app: Application[None], output: FrameOutput, text: str) -> None:
    """Prints whole lines above the drawn part, which moves down. The terminal stays raw, so no key is echoed."""
    with output.frame():
        app.renderer.erase(leave_alternate_screen=False)
        output.write_raw(text.replace("\n", "\r\n"))
        app._redraw()
