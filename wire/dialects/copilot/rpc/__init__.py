"""What an extension asks of its host: `methods` answers it, `table` has what needs the host's agent, `params` reads
parameters, and `sent_prompts` those of `session.send`."""
