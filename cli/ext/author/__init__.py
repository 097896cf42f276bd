"""`zot ext new`, `test`, `doctor` and `schema`: commands for authors of extensions.

Starting, scripting and judging an extension is in `supervisor.harness`; the templates are in `cli/scaffolds`.
"""
