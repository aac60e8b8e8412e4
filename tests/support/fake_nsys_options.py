"""The options of ``nsys profile`` and ``nsys export`` that the fake takes, by the user guide."""

from __future__ import annotations

from support.fake_options import Option, Words

__all__ = ["EXPORT", "PROFILE", "WORDS"]

WORDS = Words(
    unknown="unrecognised option '{}'",
    invalid="the argument ('{}') for option '{}' is invalid",
    missing="the required argument for option '{}' is missing",
    twice="option '{}' cannot be specified more than once",
)
_TRUE_FALSE = ("true", "false")

_OF_PROFILE = (
    Option("trace", short="t"),
    Option("sample", ("process-tree", "system-wide", "cpu", "none"), short="s"),
    Option("cpuctxsw", ("process-tree", "system-wide", "none")),
    Option("backtrace", short="b"),
    Option("cudabacktrace"),
    Option("python-backtrace"),
    Option(
        "cuda-graph-trace",
        ("graph", "node", "node:host-only", "node:host-and-device", "graph:host-only"),
    ),
    Option("cuda-memory-usage", _TRUE_FALSE),
    Option("cuda-flush-interval", is_number=True),
    Option("flush-on-cudaprofilerstop", _TRUE_FALSE),
    Option("output", short="o"),
    Option("force-overwrite", _TRUE_FALSE, short="f"),
    Option("capture-range", ("none", "cudaProfilerApi", "hotkey", "nvtx"), short="c"),
    Option("capture-range-end"),
    Option("nvtx-capture", short="p"),
    Option("nvtx-domain-include"),
    Option("nvtx-domain-exclude"),
    Option("delay", is_number=True, short="y"),
    Option("duration", is_number=True, short="d"),
    Option("env-var", may_repeat=True, short="e"),
    Option("inherit-environment", _TRUE_FALSE, short="n"),
    Option("kill", short="k"),
    Option("wait", ("primary", "all")),
    Option("stop-on-exit", _TRUE_FALSE, short="x"),
    Option("show-output", _TRUE_FALSE, short="w"),
    Option("trace-fork-before-exec", _TRUE_FALSE),
    Option("gpu-metrics-devices"),
    Option("gpu-metrics-frequency", is_number=True),
    Option("gpu-metrics-set"),
    Option("export"),
    Option("stats", _TRUE_FALSE),
    Option("session-new"),
    Option("start-later", _TRUE_FALSE, short="Y"),
    Option("run-as"),
    Option("help", is_flag=True, short="h"),
)
PROFILE = {option.name: option for option in _OF_PROFILE}

_OF_EXPORT = (
    Option(
        "type",
        ("sqlite", "hdf", "text", "json", "jsonlines", "info", "arrow", "arrowdir", "parquetdir"),
        short="t",
    ),
    Option("output", short="o"),
    Option("force-overwrite", _TRUE_FALSE, short="f"),
    Option("quiet", _TRUE_FALSE, short="q"),
    Option("lazy", _TRUE_FALSE, short="l"),
    Option("include-blobs", _TRUE_FALSE),
    Option("include-json", _TRUE_FALSE),
    Option("separate-strings", _TRUE_FALSE),
    Option("tables"),
    Option("times"),
    Option("ts-normalize", _TRUE_FALSE),
    Option("help", is_flag=True, short="h"),
)
EXPORT = {option.name: option for option in _OF_EXPORT}
