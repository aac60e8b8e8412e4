"""Ranges of `nsightlens.annotate` reach a listener of NVTX, as they reach a profiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nsightlens.steps import read_path

if TYPE_CHECKING:
    from pathlib import Path

# A library as profilers load it into a process: NVTX asks for its functions at the first call.
LISTENER = r"""
#include <stdio.h>
#include <stdint.h>
#include <string.h>

typedef void (*function_t)(void);
typedef struct {
    size_t size;
    int (*module_table)(int module, function_t*** table, unsigned int* size);
} callbacks_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char* message;
} attributes_t;

static void* create(const char* name) { return strdup(name); }
static void* registered(void* domain, const char* text) { (void)domain; return strdup(text); }
static int push(void* domain, const attributes_t* event) {
    printf("push %s@%s\n", (const char*)domain, event->message);
    fflush(stdout);
    return 0;
}
static int pop(void* domain) {
    printf("pop %s\n", (const char*)domain);
    fflush(stdout);
    return 0;
}

int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
    const callbacks_t* callbacks = export_table(1);
    function_t** table;
    unsigned int size;
    if (!callbacks->module_table(5, &table, &size) || size < 13) return 0;
    *table[4] = (function_t)push;
    *table[5] = (function_t)pop;
    *table[10] = (function_t)registered;
    *table[12] = (function_t)create;
    return 1;
}
"""

PROGRAM = """
from nsightlens import annotate

@annotate.op("norm", bytes=4096)
def norm():
    raise KeyError

with annotate.step("decode", batch_size=8, context=500, query=1):
    with annotate.op("q/k v=1"):
        pass
    try:
        norm()
    except KeyError:
        pass
annotate.enable(False)
with annotate.step("prefill"):
    pass
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="loads a library as Linux does"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


def _lines(listener: Path | None) -> list[str]:
    """Run the program, with a listener or without one; return what the listener heard."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("NVTX_")}
    if listener is not None:
        environment["NVTX_INJECTION64_PATH"] = str(listener)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_listener_hears_the_ranges_and_our_reader_understands_them(tmp_path: Path) -> None:
    """In order, in our domain, and closed where an exception passes."""
    pytest.importorskip("nvtx")
    source, library = tmp_path / "listener.c", tmp_path / "listener.so"
    source.write_text(LISTENER, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    lines = _lines(library)
    step = "nsightlens@step v1 phase=decode batch_size=8 context=500 query=1"
    assert lines == [
        f"push {step}",
        "push nsightlens@op v1 name=q%2Fk%20v%3D1",
        "pop nsightlens",
        "push nsightlens@op v1 name=norm bytes=4096.0",
        "pop nsightlens",
        "pop nsightlens",
    ]
    found = read_path(f"{step}/op v1 name=q%2Fk%20v%3D1")
    assert (found.batch_size, found.kv_tokens, found.operation) == (8, 4000, "q/k v=1")


def test_without_a_listener_nothing_is_pushed() -> None:
    """The program runs as if there were no ranges."""
    assert _lines(None) == []
