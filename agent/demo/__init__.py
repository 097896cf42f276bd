"""The demo: a small project, and a cassette in which a model works on it."""

from __future__ import annotations

from pathlib import Path

PROMPT = "The total in prices.py is wrong. Fix it, clear the build folder, and tell me what is left to do."
PROJECT = Path(__file__).with_name("project")
CASSETTE = Path(__file__).with_name("cassette.jsonl")
EXTENSIONS = ("guard", "redactor", "todo-count", "turn-meter")
"""Folders below `examples/extensions`. Only todo-count offers a tool, so the others may be left out."""
