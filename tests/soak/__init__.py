"""Long tests, run whole by ``make soak`` and at a hundredth of their length by the suite.

A long test is a function of a seed that asserts, and returns what it measured. Its module in
this folder registers it with :func:`tests.soak.harness.soak`.
"""
