"""nsightlens: reads Nsight Compute reports and says what bounds each kernel launch, and why.

- `nsightlens.errors`, `nsightlens.units`: exceptions; units of metrics.
- `nsightlens.patterns`, `nsightlens.files`: globs; outputs written whole or not at all.
- `nsightlens.toml_files`: files of settings that a user writes.
- `nsightlens.processors`, `nsightlens.worker`, `nsightlens.beside`, `nsightlens.no_pandas`: how
  many processors there are; processes beside this one, and parts of a task in them; processes
  that are ours alone do without pandas.
- `nsightlens.tables`, `nsightlens.metric_store`, `nsightlens.report`: Arrow schemas; raw metrics;
  the tables of a report in memory.
- `nsightlens.arrays`: NumPy arrays as Arrow arrays.
- `nsightlens.ncurep`: the .ncu-rep file format, reader and writer. `nsightlens.ncucsv`: the text of
  ``ncu --csv``.
- `nsightlens.metrics`: our columns, from raw metrics in their spellings by architecture.
- `nsightlens.devices`: peak rates of GPUs. `nsightlens.kernels`: families of kernel names.
- `nsightlens.steps`: phase and batch size of a step, from NVTX. `nsightlens.annotate`: NVTX ranges
  that say them, for a program of your own.
- `nsightlens.models`: sizes of language models, and the work of their steps.
- `nsightlens.readers`: a file becomes a `Report`.
- `nsightlens.analysis`: a `Report` becomes labels. `nsightlens.sweeps`: labels along the batch
  size, and the verdict. `nsightlens.comparison`: two reports side by side; limits for CI.
- `nsightlens.store`, `nsightlens.render`, `nsightlens.plots`: Parquet; text, JSON, CSV and
  Markdown; figures.
- `nsightlens.pipelines`: many reports, one at a time, here or on a cluster.
- `nsightlens.example`: the bundled, synthetic decode sweep.
- `nsightlens.trace`, `nsightlens.nsys`, `nsightlens.timelines`, `nsightlens.joining`: traces of
  Nsight Systems: their tables, their exports, what a step spent its time on, and their kernels
  beside the launches of a report.
- `nsightlens.serving`, `nsightlens.advisor`: results of serving benchmarks; which batch size to
  serve with.
- `nsightlens.harness`, `nsightlens.programs`: decode steps under ncu and nsys; foreign programs.
- `nsightlens.cli`, `nsightlens.notebook`: command line; display in notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__

if TYPE_CHECKING:
    from nsightlens.advisor.advice import Wishes, advise
    from nsightlens.advisor.answers import Advice, Question, Slo
    from nsightlens.analysis import Classification, Explanation, classify, explain
    from nsightlens.comparison import Comparison, compare
    from nsightlens.errors import NsightLensError
    from nsightlens.joining import Joined, join
    from nsightlens.readers import open_report, open_trace, read_metrics
    from nsightlens.report import Report
    from nsightlens.serving.serving import Serving, open_serving
    from nsightlens.store import Dataset, open_dataset
    from nsightlens.sweeps import Sweep, sweep
    from nsightlens.sweeps.predict import predict
    from nsightlens.timelines.timeline import Timeline, timeline
    from nsightlens.trace import Trace

__all__ = [
    "Advice",
    "Classification",
    "Comparison",
    "Dataset",
    "Explanation",
    "Joined",
    "NsightLensError",
    "Question",
    "Report",
    "Serving",
    "Slo",
    "Sweep",
    "Timeline",
    "Trace",
    "Wishes",
    "__version__",
    "advise",
    "classify",
    "compare",
    "explain",
    "join",
    "open_dataset",
    "open_report",
    "open_serving",
    "open_trace",
    "predict",
    "read_metrics",
    "sweep",
    "timeline",
]

# Where each public name lives. They are imported when first used, so that the command line can
# answer --help without loading Arrow.
_HOME = {
    "Advice": "nsightlens.advisor.answers",
    "Classification": "nsightlens.analysis",
    "Comparison": "nsightlens.comparison",
    "Dataset": "nsightlens.store",
    "Explanation": "nsightlens.analysis",
    "Joined": "nsightlens.joining",
    "NsightLensError": "nsightlens.errors",
    "Question": "nsightlens.advisor.answers",
    "Report": "nsightlens.report",
    "Serving": "nsightlens.serving.serving",
    "Slo": "nsightlens.advisor.answers",
    "Sweep": "nsightlens.sweeps",
    "Timeline": "nsightlens.timelines.timeline",
    "Trace": "nsightlens.trace",
    "Wishes": "nsightlens.advisor.advice",
    "advise": "nsightlens.advisor.advice",
    "classify": "nsightlens.analysis",
    "compare": "nsightlens.comparison",
    "explain": "nsightlens.analysis",
    "join": "nsightlens.joining",
    "open_dataset": "nsightlens.store",
    "open_report": "nsightlens.readers",
    "open_serving": "nsightlens.serving.serving",
    "open_trace": "nsightlens.readers",
    "predict": "nsightlens.sweeps.predict",
    "read_metrics": "nsightlens.readers",
    "sweep": "nsightlens.sweeps",
    "timeline": "nsightlens.timelines.timeline",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "annotate":  # a module: `nsightlens.annotate.step` needs no import of its own
        return importlib.import_module("nsightlens.annotate")
    if name not in _HOME:
        raise AttributeError(f"module 'nsightlens' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
