"""The commands about the folder of a batch, while it runs and afterwards: parse, call `agent.batch.journal`, print."""
