"""Which runs may be compared: those of one setup, which differ in the load and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.advisor.answers import Warned
from nsightlens.errors import AdviceError
from nsightlens.patterns import matcher_of
from nsightlens.tables import SERVING_RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Setup", "choose_setup", "named_experts", "only", "setups_of"]

KEYS = (
    "model", "engine", "engine_version", "device_name", "gpu_count", "tensor_parallel_size",
    "dtype", "quantization", "kv_cache_dtype", "workload", "speculative", "prefix_caching",
    "scheduler_steps", "mixture_of_experts",
)  # fmt: skip
"""Columns in which runs of one sweep must not differ; a row that lacks one goes with the others
where they all agree."""

_DIGITS = re.compile(r"([A-Za-z]*)(\d+(?:\.\d+)?)")
_COUNTERS = frozenset(
    {"", "b", "bs", "batch", "c", "conc", "concurrency", "exp", "in", "isl", "iter", "k", "line",
     "mns", "n", "no", "osl", "out", "qps", "r", "rep", "repeat", "row", "run", "seed", "seqs",
     "stage", "trial", "try", "v", "x"}
)  # fmt: skip
"""Words before a number in a name that count loads or repeats; others, as in ``fp8``, are of the
setup."""

LENGTH_RATIO = 1.5
"""Runs whose mean lengths differ by more than this factor are of different work."""

_EXPERTS = re.compile(
    r"mixtral|moe\b|[-_]moe|deepseek.?(?:v[23]|r1(?!.?distill))|gpt-oss|minimax-m\d|-a\d+(?:\.\d+)?b\b|dbrx|grok"
    r"|llama-4|kimi-k2|glm-4\.5|arctic|jamba|\d+x\d+b",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Setup:
    """The runs of one setup.

    Parameters
    ----------
    key
        What they have in common: columns of ``serving_runs`` to values, what is known alone.
    runs
        With the schema ``SERVING_RUNS``.
    """

    key: dict[str, Any]
    runs: pa.Table

    @property
    def name(self) -> str:
        """The setup in words, such as ``"model=opt-1.3b, workload=in128_out128"``."""
        return ", ".join(f"{key}={value}" for key, value in self.key.items()) or "all runs"


def named_experts(model: str | None) -> bool | None:
    """Return True where a model's name says that it is a mixture of experts, else None.

    Examples
    --------
    >>> named_experts("Qwen3-30B-A3B"), named_experts("opt-1.3b")
    (True, None)
    """
    return True if model and _EXPERTS.search(model) else None


def only(runs: pa.Table, conditions: Mapping[str, str]) -> pa.Table:
    """Return the runs whose columns are as wanted: text with ``*`` and ``?``, or a number.

    Raises
    ------
    AdviceError
        A column does not exist, or no run is left.
    """
    names = {column.name for column in SERVING_RUNS}
    for column, wanted in conditions.items():
        if column not in names:
            raise AdviceError(
                f"{column} is no column of the runs: it must be one of {', '.join(KEYS)}, or "
                "another column of docs/reference/tables.md."
            )
        texts = ["unknown" if one is None else _shown(one) for one in runs[column].to_pylist()]
        fits = matcher_of([wanted])
        kept = runs.filter(pa.array([fits(text) for text in texts], pa.bool_()))
        if not kept.num_rows:
            there = sorted(set(texts))
            raise AdviceError(f"no run has {column}={wanted}: there is {', '.join(there[:8])}.")
        runs = kept
    return runs


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def setups_of(runs: pa.Table) -> tuple[Setup, ...]:
    """Return the setups of runs, the one with the most runs first.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``. Runs that say only shares of time go with every setup of
        their model.
    """
    speed = _has_speed(runs)
    shares = runs.filter(pa.array(~speed))
    runs = runs.filter(pa.array(speed))
    if not runs.num_rows:
        return ()
    runs = _with_workload(runs)
    filled = _filled(runs)
    keys = list(zip(*(filled[name] for name in KEYS), strict=True))
    order = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    index = np.array([order[key] for key in keys])
    found = []
    for key, number in order.items():
        rows = runs.filter(pa.array(index == number))
        known = {name: value for name, value in zip(KEYS, key, strict=True) if value is not None}
        model = known.get("model")
        of_model = [
            one is None or model is None or str(one).lower() == str(model).lower()
            for one in shares["model"].to_pylist()
        ]
        shared = shares.filter(pa.array(of_model, pa.bool_()))
        found += [
            Setup({**known, **more}, pa.concat_tables([part, shared]))
            for more, part in _by_name(rows)
        ]
    return tuple(sorted(found, key=lambda one: -one.runs.num_rows))


_LOAD = (
    "max_num_seqs", "static_batch_size", "max_concurrency", "request_rate_per_s", "replicas", "mps",
    "chunked_prefill",
)  # fmt: skip
"""Columns in which runs of one sweep may differ."""


def _by_name(runs: pa.Table) -> list[tuple[dict[str, str], pa.Table]]:
    """Part runs of equal loads whose names have other words: there is more that no file says.

    Names that differ in numbers alone, such as those of repeats, part nothing.

    Returns
    -------
    list of (key, runs)
        With one part and an empty key where no two such runs are there. The key's pattern can be
        given to `only` as it is.
    """
    words = [_DIGITS.sub(_counted, name) for name in runs["run"].to_pylist()]
    loads = list(zip(*(runs[name].to_pylist() for name in _LOAD), strict=True))
    names_of: dict[Any, set[str]] = {}
    for load, name in zip(loads, words, strict=True):
        names_of.setdefault(load, set()).add(name)
    if all(len(names) == 1 for names in names_of.values()):
        return [({}, runs)]
    return [
        ({"run": name}, runs.filter(pa.array([one == name for one in words], pa.bool_())))
        for name in dict.fromkeys(words)
    ]


def _counted(match: re.Match[str]) -> str:
    """Return a number of a name as ``*`` where it counts something."""
    return f"{match[1]}*" if match[1].lower() in _COUNTERS else match[0]


def _has_speed(runs: pa.Table) -> NDArray[np.bool_]:
    names = (
        "output_tok_per_s", "total_tok_per_s", "requests_per_s", "decode_tok_per_s",
        "mean_itl_ms", "median_itl_ms", "mean_tpot_ms", "median_tpot_ms",
    )  # fmt: skip
    return np.asarray(np.any([pc.is_valid(runs[name]).to_numpy() for name in names], axis=0))


def _with_workload(runs: pa.Table) -> pa.Table:
    """Name the work of runs by their mean lengths, where no file names it and they differ."""
    workloads = runs["workload"].to_pylist()
    lengths = [
        runs[name].to_numpy(zero_copy_only=False)
        for name in ("mean_input_tokens", "mean_output_tokens")
    ]
    unnamed = np.array([one is None for one in workloads]) & np.isfinite(lengths[0] + lengths[1])
    if not unnamed.any():
        return runs
    models = np.array([str(one) for one in runs["model"].to_pylist()])
    for model in np.unique(models[unnamed]):
        rows = np.flatnonzero(unnamed & (models == model))
        groups = [_clusters(one[rows]) for one in lengths]
        if all(len(np.unique(one)) == 1 for one in groups):
            continue
        for row, first, second in zip(rows, *groups, strict=True):
            workloads[row] = f"in{first:.0f}_out{second:.0f}"
    place = runs.schema.get_field_index("workload")
    field = runs.schema.field(place)
    return runs.set_column(place, field, pa.array(workloads, pa.string()).dictionary_encode())


def _clusters(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each value the median of those that no gap of `LENGTH_RATIO` parts from it."""
    order = np.argsort(values)
    ordered = np.maximum(values[order], 1.0)
    group = np.concatenate([[0], np.cumsum(ordered[1:] > LENGTH_RATIO * ordered[:-1])])
    medians = np.array([np.median(ordered[group == one]) for one in np.unique(group)])
    result = np.empty_like(values)
    result[order] = medians[group]
    return result


def _models(runs: pa.Table) -> list[str | None]:
    """Return the model of each run; a missing one is that of the runs in its folder, if one."""
    spelled: dict[str, str] = {}
    in_folder: dict[str, set[str]] = {}
    folders = [str(PurePosixPath(name).parent) for name in runs["run"].to_pylist()]
    models = [None if one is None else str(one) for one in runs["model"].to_pylist()]
    for folder, model in zip(folders, models, strict=True):
        if model is not None:
            first = spelled.setdefault(model.lower(), model)
            in_folder.setdefault(folder, set()).add(first)
    found: list[str | None] = []
    for folder, model in zip(folders, models, strict=True):
        near = in_folder.get(folder, set())
        if model is not None:
            found.append(spelled[model.lower()])
        else:
            found.append(next(iter(near)) if len(near) == 1 else None)
    return found


def _filled(runs: pa.Table) -> dict[str, list[Any]]:
    """Return the key columns; a missing one is that of all others of its model, if they agree.

    Not where the run's own log or table would have said it: there, nothing is the default of the
    engine, and no quantization is not that of the runs beside it.
    """
    models = _models(runs)
    filled: dict[str, list[Any]] = {"model": models}
    logged = pc.is_valid(runs["engine_version"]).to_numpy()  # which every log says
    sources = [name.rpartition(": ")[0] for name in runs["run"].to_pylist()]
    for name in KEYS[1:]:
        values = runs[name].to_pylist()
        there: dict[Any, set[Any]] = {}
        for model, value in zip(models, values, strict=True):
            if value is not None:
                there.setdefault(model, set()).add(value)
        pairs = zip(sources, values, strict=True)
        said = {source for source, value in pairs if source and value is not None}
        filled[name] = [
            next(iter(there[model]))
            if value is None
            and len(there.get(model, ())) == 1
            and not has_log
            and source not in said
            else value
            for model, value, has_log, source in zip(models, values, logged, sources, strict=True)
        ]
    return filled


def choose_setup(setups: Sequence[Setup]) -> tuple[Setup, tuple[Warned, ...]]:
    """Return the one setup that can be meant.

    Setups with a single run beside one with several are left out, which is warned of.

    Raises
    ------
    AdviceError
        There is none, or several may be meant; the message lists them.
    """
    if not setups:
        raise AdviceError(
            "no run has a throughput or a latency: there is nothing to choose a batch size from."
        )
    sweeps = [one for one in setups if one.runs.num_rows > 1]
    if len(setups) == 1:
        return setups[0], ()
    if len(sweeps) == 1:
        others = "; ".join(_difference(one, sweeps[0]) for one in setups[1:4])
        text = f"Left out, because of another setup: {len(setups) - 1} runs ({others})."
        return sweeps[0], (Warned("other_setups", text),)
    lines = "; ".join(
        f"({number}) {_distinct(one, setups)}: {one.runs.num_rows} runs"
        for number, one in enumerate(setups[:8], 1)
    )
    more = f"; and {len(setups) - 8} more" if len(setups) > 8 else ""
    raise AdviceError(
        f"there are {len(setups)} setups, and advice is for one: choose with --only COLUMN=VALUE, "
        f"such as --only {_example(setups)}. {lines}{more}."
    )


def _varying(setups: Sequence[Setup]) -> list[str]:
    names = (*KEYS, "run")
    return [name for name in names if len({str(one.key.get(name)) for one in setups}) > 1]


def _distinct(setup: Setup, setups: Sequence[Setup]) -> str:
    return ", ".join(f"{name}={setup.key.get(name, 'unknown')}" for name in _varying(setups))


def _difference(one: Setup, other: Setup) -> str:
    return _distinct(one, (one, other))


def _example(setups: Sequence[Setup]) -> str:
    for name in _varying(setups):
        if setups[0].key.get(name) is not None:
            return f"{name}={setups[0].key[name]}"
    return "model=NAME"
