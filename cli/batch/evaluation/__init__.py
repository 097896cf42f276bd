"""Evaluations of batches as people and programs read them: in sentences and tables, on a page for a
browser, as JSON and as CSV.

The figures are those of `agent.batch.evaluation`; the commands that print them are in `cli.batch.folder`.
"""
