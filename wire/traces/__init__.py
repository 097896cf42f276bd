"""What runs leave behind beside their traces: the files of black boxes. The lines of a trace are in `wire.stats`."""
