# Each target does its own set-up in .venv: plain venv and pip, versions from constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete

.PHONY: demo test lint bench soak picture clean notice

# The scenario of the demo takes PhysX where it has a wheel and says so where it has none.
demo: notice $(STAMP)
	@$(BIN)/irsim-isaac demo -o out/demo

notice:
	@$(PYTHON) tools/notice.py $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	@touch $(STAMP)

test: $(STAMP) lint
	$(BIN)/python -m pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m benchmarks

soak: $(STAMP)
	$(BIN)/python -m tests.soak

clean:
	rm -rf .venv out dist build
