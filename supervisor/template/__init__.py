"""A process that has imported everything once, and forks others on request: a fork starts in a thousandth of the time.

The room knows no agents and no batches: the work of a fork is a function of the template's program. Linux only: it
needs pidfds, and sockets that keep packets apart. `reset` has the state that a fork resets, so that it equals a program
that was started; `server` refuses to fork from a program that holds what forks must not share.
"""
