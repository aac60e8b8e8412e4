"""The options of ncu that its fake takes, by the manual of its command line.

Values with a fixed choice are checked. The words for an unknown option are the real ones; those
for a bad value are those of the library that reads its command line (boost), and not verified.
"""

from __future__ import annotations

from support.fake_options import Option, Words

__all__ = ["OPTIONS", "WORDS"]

WORDS = Words(
    unknown="unrecognised option '{}'. Use --help for further details.",
    invalid="the argument ('{}') for option '{}' is invalid. Use --help for further details.",
    missing="the required argument for option '{}' is missing. Use --help for further details.",
    twice="option '{}' cannot be specified more than once. Use --help for further details.",
)
_ON_OFF = ("on", "off", "yes", "no", "1", "0")

_EVERY = (
    Option("help", is_flag=True, short="h"),
    Option("version", is_flag=True, short="v"),
    Option("mode", ("launch-and-attach", "launch", "attach")),
    Option("target-processes", ("all", "application-only")),
    Option("target-processes-filter"),
    Option("check-exit-code", _ON_OFF),
    Option("null-stdin", is_flag=True),
    Option("config-file", _ON_OFF),
    Option("config-file-path"),
    Option("export", short="o"),
    Option("force-overwrite", is_flag=True, short="f"),
    Option("import", short="i"),
    Option("log-file"),
    Option("quiet", is_flag=True),
    Option("verbose", is_flag=True),
    Option("kernel-name", short="k", may_repeat=True),
    Option("kernel-name-base", ("function", "demangled", "mangled")),
    Option("kernel-id"),
    Option("launch-skip", is_number=True, short="s"),
    Option("launch-count", is_number=True, short="c"),
    Option("launch-skip-before-match", is_number=True),
    Option("filter-mode", ("global", "per-gpu", "per-launch-config"), since=(2023, 1)),
    Option("range-filter", since=(2022, 3)),
    Option("kill", _ON_OFF),
    Option("replay-mode", ("kernel", "application", "range", "app-range")),
    Option("app-replay-buffer", ("file", "memory")),
    Option("app-replay-match", ("name", "grid", "all")),
    Option("app-replay-mode", ("strict", "balanced", "relaxed")),
    Option("range-replay-options"),
    Option("graph-profiling", ("node", "graph"), since=(2022, 4)),
    Option("devices"),
    Option("section", may_repeat=True),
    Option("section-folder", may_repeat=True),
    Option("section-folder-recursive", may_repeat=True),
    Option("set"),
    Option("list-sets", is_flag=True),
    Option("list-sections", is_flag=True),
    Option("list-metrics", is_flag=True),
    Option("list-chips", is_flag=True),
    Option("list-rules", is_flag=True),
    Option("metrics", may_repeat=True),
    Option("query-metrics", is_flag=True),
    Option("query-metrics-mode", ("base", "suffix", "all")),
    Option("chips"),
    Option("disable-extra-suffixes", is_flag=True, since=(2023, 1)),
    Option("rule", may_repeat=True),
    Option("apply-rules", _ON_OFF),
    Option("import-source", _ON_OFF),
    Option("source-folders"),
    Option("profile-from-start", _ON_OFF),
    Option("disable-profiler-start-stop", is_flag=True),
    Option("cache-control", ("all", "none")),
    Option("clock-control", ("base", "none", "reset", "boost")),
    Option("nvtx", is_flag=True),
    Option("nvtx-include", may_repeat=True),
    Option("nvtx-exclude", may_repeat=True),
    Option("nvtx-push-pop-scope", ("thread", "process"), since=(2024, 3)),
    Option("call-stack", is_flag=True),
    Option("call-stack-type", since=(2025, 1)),
    Option("support-32bit", is_flag=True),
    Option("preload-library"),
    Option("sampling-interval"),
    Option("sampling-max-passes", is_number=True),
    Option("sampling-buffer-size", is_number=True),
    Option("csv", is_flag=True),
    Option("page", ("details", "raw", "source", "session")),
    Option("print-details", ("header", "body", "all")),
    Option("print-units", ("auto", "base")),
    Option("print-summary", ("none", "per-gpu", "per-kernel", "per-nvtx")),
    Option("print-fp", is_flag=True),
    Option("print-kernel-base", ("function", "demangled", "mangled")),
    Option("print-metric-instances", ("none", "values", "details")),
    Option("print-nvtx-rename", ("none", "kernel")),
    Option("lockstep-kernel-launch", is_flag=True, since=(2025, 3)),
    Option("communicator", since=(2025, 3)),
)
OPTIONS = {option.name: option for option in _EVERY}
