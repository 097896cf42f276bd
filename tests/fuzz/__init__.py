"""Feeds faulty inputs of every kind to the product: `make fuzz`, and in the suite a fixed number of each kind.

A *target* takes one input as the product does, by its public functions. An input fails if the product raises what it
does not document, takes processor time out of proportion to the input's bytes, crashes or hangs; a run also fails if
it has grown, or leaves a process or a descriptor open.
"""
