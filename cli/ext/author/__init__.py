"""`zot ext new`, `test`, `doctor` and `schema`: for those who write extensions.

Starting and scripting an extension is in `supervisor.harness`; the templates are in `cli/scaffolds`.
"""
