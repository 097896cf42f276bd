"""The engine runs prompts with its extensions, its model and its tools; its host adds the needs of a process.

`engine` carries out prompts, `session` has their conversation, `extensions` finds and starts the extensions,
`host_calls` answers their calls, `client_calls` calls tools for a client of rpc, `sent_runs` runs the prompts that
extensions send in a headless run. `agent.headless` and `agent.rpc`, above, send the other prompts and own the process.
"""
