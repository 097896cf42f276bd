"""The template process: it imports everything once, and forks on request. A fork starts in a thousandth of the time.

The room knows no agents and no batches: a fork calls a function of the template's program. Linux only: it needs pidfds,
and sockets that keep packets apart. `reset` sets back the state of a fork, so that it equals a program that was
started; `server` refuses to fork from a program with threads or descriptors that forks must not share.
"""
