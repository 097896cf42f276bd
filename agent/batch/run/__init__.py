"""The inside of the process of one run of a batch, and the program of the template that forks such processes.

`run_main` is the entry of a run; `template_main` is the template's program. The batch's side of a run is in
`agent.batch.pool`.
"""
