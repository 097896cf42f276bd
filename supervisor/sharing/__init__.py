"""Extensions of one host that serve many runs: the host's side, which queues and forwards, and the run's side.

A run keeps its own deadlines, verdicts, output and account: a hosted extension is a `Worker` on a link
(`supervisor.extension.hosted_worker`). The host owns the processes. `wire.dialects.attach` has the lines between both.
"""
