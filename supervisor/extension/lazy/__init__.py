"""Extensions whose processes start when needed: the registrations of their last start, requests that wait for a start,
and the stop of a process that has nothing to do.

`supervisor.extension.generation` owns the workers; here nothing decides about restarts.
"""
