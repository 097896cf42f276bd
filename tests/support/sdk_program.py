"""Extensions as programs: what the source of each begins with, and the interpreter that runs it."""

from __future__ import annotations

import sys

from tests.support.warm_start import ROOT

PRELUDE = f"""
import os, signal, subprocess, sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
from zotext import *
ext = Extension("child", "1.0")
forever = threading.Event()
"""
PYTHON = [sys.executable, "-I", "-S"]
