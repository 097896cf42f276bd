"""Batches on many machines. The driver keeps the journal, the throttle, the budget and RUNDIR; each node has the
processes of its runs: template, model workers and shared extensions, as a batch on one machine has them.

`carrier` brings bytes to node programs and back. `ray` is the carrier for Ray clusters, `node` the node program.
"""
