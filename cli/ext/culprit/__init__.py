"""`zot ext profile`: finds which extension is at fault, and where in its code."""
