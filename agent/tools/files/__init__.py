"""What the file tools share: atomic writing, regular files only, line ends, diffs, images. Runs in the file worker."""
