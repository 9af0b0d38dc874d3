"""``python -m tests.soak [NAME ...]``: run the long tests whole; a broken-off run goes on."""

from __future__ import annotations

import sys

from tests.soak.harness import load, run

tests = load()
unknown = sorted(set(sys.argv[1:]) - set(tests))
if unknown:
    sys.exit(f"no long test named {', '.join(unknown)}; there are {', '.join(sorted(tests))}")
for name in sys.argv[1:] or sorted(tests):
    run(tests[name])
    print(f"{name}: passed")
