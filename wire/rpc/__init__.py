"""The lines of `zot rpc`: requests of a client, and the responses to them. The records of prompts are `wire.events`."""
