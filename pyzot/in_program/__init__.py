"""Functions of the program that its agent calls: handlers of its extensions, and its decision where a guard leaves that
to a person. Imported only by a runtime with such functions."""
