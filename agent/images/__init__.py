"""Images for the model: what their bytes say, the limits of the Messages API, and how one that is too large is scaled.

`kinds` reads headers, `limits` decides, `scale_main` is the child that decodes and scales, `scaler` its host's side;
`flag` reads the files of --image. Reading the file of a tool call is the file worker's.
"""
