"""This project beside its peers, both in the same run; see ``python -m benchmarks --help``."""
