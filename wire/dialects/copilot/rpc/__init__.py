"""The methods that need the host's agent: `table` names them, `params` reads their parameters, and `sent_prompts` those
of `session.send`."""
