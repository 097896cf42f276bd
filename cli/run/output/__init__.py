"""Where a run's answer goes besides the event stream: stdout as text or one JSON object, -o FILE, --summary FILE.

`files` checks the files before the run, `delivery` writes all of it after the run, `summary` makes the Markdown. Which
of them the flags ask for is in `cli.run.request`. The event stream is `agent.output`'s.
"""
