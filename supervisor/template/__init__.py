"""A process that has imported everything once, and forks others on request: a fork starts in a thousandth of the time.

The room knows no agents and no batches: what a fork does is a function of the template's program. Linux only: it needs
pidfds, and sockets that keep packets apart. `reset` has what a fork sets back, so that it equals a program that was
started; `server` refuses to fork from a program that holds what forks must not share.
"""
