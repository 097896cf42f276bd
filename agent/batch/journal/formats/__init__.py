"""The results of a batch as other programs read them. Each module writes one format, row by row, from `BatchResults`.

`FORMATS` in `choice` has their names.
"""
