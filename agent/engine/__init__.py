"""The engine runs prompts with its extensions, its model and its tools; its host has what a process needs around it.

`engine` carries out prompts, `session` has their conversation, `extensions` finds and starts the extensions,
`host_calls` answers what these want, `sent_runs` runs the prompts that they send in a headless run. Whoever sends the
other prompts, and owns the process, is above: `agent.headless`, `agent.rpc`.
"""
