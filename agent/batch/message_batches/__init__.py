"""Tasks of one turn that go through the provider's Message Batches API, at half the price (`--batch-api`).

The word *message batch* is the provider's: many requests that are sent together and answered within a day. A *batch* is
ours, as everywhere. Tasks become requests (`requests`), requests the file of a message batch (`request_file`, by the
limits in `chunk`); `lifecycle` decides what to ask the provider next, `provider_calls` asks it through a child process,
`attempts` carries this out, and `write_up` turns each result into events and an outcome.
"""
