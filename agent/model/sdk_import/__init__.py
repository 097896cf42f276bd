"""Imports the anthropic SDK in the model worker, without the parts of it that no run uses.

`left_out` has the table of those parts, `stand_ins` puts inert stand-ins in their place, `rehearsal` proves that a
reply is read as with the whole SDK, and `load` decides which of the two is used. Only the model worker imports this
room: the standard library and neighbours only.
"""
