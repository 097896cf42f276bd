"""Imports the anthropic SDK in the model worker, without the parts of it that no run uses.

`stand_ins` has the table of those parts and puts inert stand-ins in their place, `rehearsal` proves that a
reply is read as with the whole SDK, and `load` decides which of the two is used. Only the model worker imports this
room: the standard library and neighbours only.
"""
