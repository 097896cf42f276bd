"""A process that has imported everything once, and forks others on request: a fork starts in a thousandth of the time.

The room knows no agents and no batches: what a fork does is a function of the template's program. Linux only: it needs
pidfds, and sockets that keep packets apart. No test of fork safety is left to the functions: `reset` has what a fork
sets back, `server` what the template itself must not hold.
"""
