"""`zot doctor`: checks the machine and the configuration. `zot ext doctor` starts the extensions."""
