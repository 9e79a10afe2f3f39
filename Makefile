# make demo    from a fresh clone and a bare Python 3.11: a PyTorch model to an offline model, run without PyTorch
# make test    creates the environment and runs every test
# make lint    ruff and mypy
# make zoo     imports, compiles and compares the model lists
# make bench   the measurements

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV ?= .venv
JOBS ?= 2

# One thread per test process: the processes share the cores.
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

python = $(VENV)/bin/python
install = $(python) -m pip install --quiet -c constraints.txt
# ge's own packages come from this tree alone; their requirements are installed before them.
install_ours = $(python) -m pip install --quiet --no-deps --no-build-isolation --no-index

projects = pyproject.toml $(wildcard frontends/*/pyproject.toml) $(wildcard backends/*/pyproject.toml)
folders = . $(patsubst %/pyproject.toml,%,$(filter-out pyproject.toml,$(projects)))
demo_projects = pyproject.toml frontends/torch/pyproject.toml backends/cpu/pyproject.toml

.PHONY: demo test lint lint-rules lint-format lint-types zoo bench environment clean

demo: $(VENV)/.demo
	$(python) examples/pytorch_to_om.py

test: environment
	JOBS=$(JOBS) PYTHON=$(python) bash tests/run.sh

lint: lint-rules lint-format lint-types

lint-rules: environment
	$(python) -m ruff check .

lint-format: environment
	$(python) -m ruff format --check .

lint-types: environment
	$(python) -m mypy

zoo: environment
	for list in torch tensorflow paddle mindspore; do $(python) bench/zoo.py --list $$list || exit 1; done
	$(python) bench/zoo_onnx.py
	$(python) bench/tensorflow_files.py
	$(python) bench/zoo_ascend.py
	$(python) bench/onnx_export.py
	GE_HOSTILE=6000 GE_NODE_CASES=all $(python) -m pytest -q tests/frontends/onnx/test_hostile.py tests/frontends/onnx/test_target.py

bench: environment
	$(install) -r bench/requirements.txt
	$(python) bench/scale.py
	$(python) bench/memory.py
	$(python) bench/import.py
	$(python) bench/kernels.py
	$(python) bench/cpu_peers.py
	$(python) bench/cpu_peers.py --throughput 32
	$(python) bench/compile.py
	$(python) bench/compile_large.py
	$(python) bench/calls.py
	$(python) bench/int8.py
	$(python) bench/eager.py
	$(python) bench/seed_tables.py

environment: $(VENV)/.test

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.created constraints.txt $(demo_projects)
	$(install) hatchling editables $$($(python) tools/third_party.py $(demo_projects))
	$(install_ours) -e . -e backends/cpu -e frontends/torch
	touch $@

$(VENV)/.test: $(VENV)/.created constraints.txt tests/requirements.txt $(projects)
	$(install) $$($(python) tools/third_party.py $(projects))
	$(install) --no-deps torchvision
	$(install) -r tests/requirements.txt
	$(install_ours) $(addprefix -e ,$(folders))
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist
