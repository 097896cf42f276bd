"""Extensions and other programs that the benchmarks start by their path."""
