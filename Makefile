# Every target does its own set-up in .venv: plain venv and pip, versions from constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete

.PHONY: demo demo-search picture test lint bench soak clean

demo: $(STAMP)
	@if $(BIN)/python -c "import ovphysx" 2>/dev/null; then scenario=warehouse; \
	else scenario=warehouse_kinematic; \
	echo "ovphysx is not installed: the kinematic StageSimulator takes its place"; fi; \
	$(BIN)/irsim-isaac validate $$scenario -o out/demo

# A cup is moved by the simulation, searched for by a robot and found; SCENARIO=flat_cm_y_up does
# the same in centimetres with y up.
SCENARIO ?= flat
demo-search: $(STAMP)
	@if $(BIN)/python -c "import ovphysx" 2>/dev/null; then simulator=physx; else simulator=stage; \
	echo "ovphysx is not installed: the kinematic StageSimulator takes its place"; fi; \
	$(BIN)/irsim-isaac find cup $(SCENARIO) --simulator $$simulator -o out/demo-search

# The picture at the head of the README.
picture: demo
	@mkdir -p docs/images && cp out/demo/overview.png docs/images/overview.png

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
