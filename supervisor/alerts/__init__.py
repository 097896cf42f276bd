"""Tells the user's own programs and addresses of events: `on_event` in the user's config.

`alerts` makes the events of a host, and `courier` hands them to a process that the first event starts: `courier_main`.
It coalesces them (`coalescer`, pure), runs programs, and has `post_main` send them to addresses. It outlives its host,
until all is delivered. The runs of a batch write their events into the `inbox` of the batch.
"""
