#!/usr/bin/env bash
# Runs every test. Each framework and each backend has a pytest process of its own, since not all of them can
# share one. PYTHON is the interpreter of an environment with everything installed, JOBS the worker processes.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
jobs=${JOBS:-2}
failed=()

run() {
    echo "== $*"
    "$python" -m pytest -q -n "$jobs" --dist worksteal "$@"
    local code=$?
    # 5: no test was collected, as in a folder that is still empty.
    [ $code -eq 0 ] || [ $code -eq 5 ] || failed+=("$*")
}

for suite in tests/core tests/conformance tests/frontends/*/ tests/backends/*/ tests/e2e; do
    [ -d "$suite" ] && run "$suite"
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
