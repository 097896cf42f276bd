"""When requests may be sent: one throttle for all runs that share an account and a family of models.

`buckets` knows what the provider's headers tell of its token buckets, `aimd` how many requests the provider takes at
the same time, and `throttle` decides with both. All of it is pure; the time is an argument, in seconds of any clock
that does not jump.
"""
