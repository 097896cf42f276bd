"""Everything that is shown, as lines of text with colours: pure, without a terminal."""
