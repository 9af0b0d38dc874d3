# Every target does its own set-up in .venv: plain venv and pip, versions from constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete
SCENARIO ?= config/scenarios/warehouse.yaml

.PHONY: demo test lint bench soak picture clean

demo: $(STAMP)
	@if $(BIN)/python -c "import ovphysx" 2>/dev/null; then right=physx; \
	else right=stage; echo "ovphysx is not installed: StageSimulator takes its place"; fi; \
	$(BIN)/irsim-isaac validate $(SCENARIO) --right $$right -o out/demo

test: $(STAMP) lint
	$(BIN)/python -m pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(NAMES)

soak: $(STAMP)
	$(BIN)/python -m tests.soak $(NAMES)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) tools/set_up.py

clean:
	rm -rf .venv out
