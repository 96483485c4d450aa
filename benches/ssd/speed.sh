#!/usr/bin/env bash
# Speed of the translation layer compared with a plain loop and, if available, with ftlsim.
#
#   make bench-ssd                        1, 4, 16, 64 and 256 million pages: some minutes, 8 GB
#   SIZES="1 16" benches/ssd/speed.sh           millions of pages
#   FTLSIM=~/sssl-ftlsim benches/ssd/speed.sh   with the C core of a copy of github.com/pjd-nu/sssl-ftlsim
#
# ftlsim is compiled in a temporary directory, which is removed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --locked -q --release -p flash --example drive_speed >&2
examples=${CARGO_TARGET_DIR:-target}/release/examples
if [ -n "${FTLSIM:-}" ]; then
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
    # Its Python callbacks are never called here; only the symbols are needed.
    cat >"$dir/Python.h" <<'PYTHON'
typedef struct PyObject PyObject;
#define PyErr_SetString(kind, text) abort()
#define PyErr_Occurred() 0
#define Py_BuildValue(...) ((PyObject *)0)
#define PyEval_CallObject(function, arguments) ((PyObject *)0)
#define Py_DECREF(object) ((void)(object))
PYTHON
    cc -O3 -march=native -w -I "$dir" -I "$FTLSIM" -o "$dir/ftlsim" benches/ssd/ftlsim.c "$FTLSIM/ftlsim.c"
    export FTLSIM_RUN=$dir/ftlsim
fi
# shellcheck disable=SC2086 # one argument for each size
"$examples/drive_speed" ${SIZES:-1 4 16 64 256}
