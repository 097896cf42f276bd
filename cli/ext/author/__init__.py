"""`zot ext new`, `test`, `doctor` and `schema`: for those who write extensions."""
