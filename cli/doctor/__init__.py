"""`zot doctor`: looks at the machine and the configuration. Starting each extension is `zot ext doctor`."""
