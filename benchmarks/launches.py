"""The launches of a benchmark report: those of the bundled example, filled up to a real weight.

The example brings what classification needs: kernel names, NVTX ranges, and metrics that fit each
other. Further metrics, instances and rule messages are made up here, with names spelled like
ncu's and as long.
"""

from __future__ import annotations

from itertools import count, cycle, islice, product
from typing import TYPE_CHECKING

from nsightlens.example.decode_sweep import CONTEXT, decode_sweep
from nsightlens.ncurep.spec import FocusedRuleMessage, FocusMetric, LaunchSpec, MetricSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.workloads import Weight
    from nsightlens.ncurep.spec import ReportSpec, Value

__all__ = ["distinct_launches", "forty_metrics"]

_UNITS = ("l1tex", "sm", "lts", "smsp", "dram", "gpu", "fbpa", "gpc", "idc", "pcie")
_EVENTS = (
    "data_bank_reads", "inst_executed_pipe_alu", "t_sectors_srcunit_tex", "requests_op_read",
    "lsu_writeback_active", "pipe_shared_cycles_active", "t_requests_lookup_miss",
    "xbar2l1tex_read_sectors", "mio2rf_writeback_active", "t_tag_requests_miss",
    "d_sectors_fill_device", "sass_inst_executed_op_shared",
)  # fmt: skip
_ROLLUPS = ("avg", "max", "min", "sum")
_SUFFIXES = (".pct_of_peak_sustained_elapsed", ".per_second", "", ".pct_of_peak_sustained_active")
_ATTRIBUTES = ("max", "can", "supports", "host", "memory", "async")
_SUBJECTS = ("grid_dim", "texture2d_layered", "gpudirect", "surface1d", "pageable_access", "pools")
_ASPECTS = ("width", "height", "depth", "count", "flush_write_options")

_SENTENCE = (
    "This made-up message stands for the advice of a rule, which says in a few sentences what was"
    " measured for this kernel, how far that lies from the peak of the device, and which change of"
    " the launch configuration or of the memory access pattern is likely to bring it closer. "
)


def distinct_launches(
    weight: Weight, batch_sizes: Sequence[int] = (1, 64), context: int = CONTEXT
) -> ReportSpec:
    """Return a report of launches that differ in kernel, NVTX ranges and metrics.

    Parameters
    ----------
    weight
        What each launch stores.
    batch_sizes
        Steps of the decode sweep to take; each has eleven launches.
    context
        [token] KV cache of each sequence.
    """
    sweep = decode_sweep(batch_sizes, context)
    launches = [_heavy(launch, i, weight) for i, launch in enumerate(sweep.launches)]
    return type(sweep)(
        launches=launches, sessions=sweep.sessions, process=sweep.process, comments=sweep.comments
    )


def forty_metrics() -> list[str]:
    """Return forty metrics that every launch has: what a roofline and its stalls need."""
    first = decode_sweep([1]).launches[0]
    return [
        spec.name
        for spec in _specs(first)
        if "." in spec.name and not spec.name.startswith("breakdown:")
    ][:40]


def _specs(launch: LaunchSpec) -> list[MetricSpec]:
    assert isinstance(launch.metrics, dict)
    return [MetricSpec(name, value) for name, value in launch.metrics.items()]


def _heavy(launch: LaunchSpec, number: int, weight: Weight) -> LaunchSpec:
    metrics = _specs(launch)
    has = {spec.name for spec in metrics}
    doubles = (name for name in _doubles() if name not in has)
    lacking = {
        kind: wanted - sum(isinstance(spec.value, kind) for spec in metrics)
        for kind, wanted in (
            (float, weight.double_count),
            (int, weight.integer_count),
            (str, weight.text_count),
        )
    }
    metrics += [
        *(MetricSpec(name, 40.0 + i / 16) for i, name in _take(doubles, lacking[float])),
        *(MetricSpec(name, 300 + 977 * i) for i, name in _take(_integers(), lacking[int])),
        *(
            MetricSpec(f"group:unit__table_{i}", _list_of_names(size))
            for i, size in enumerate(islice(cycle(weight.text_bytes), lacking[str]))
        ),
        *(MetricSpec(f"pmsampling:dramc__{i}_throughput") for i in range(weight.null_count)),
    ]
    return LaunchSpec(
        name=launch.name,
        mangled_name=launch.mangled_name,
        demangled_name=launch.demangled_name,
        grid=launch.grid,
        block=launch.block,
        api_call_id=launch.api_call_id,
        nvtx=launch.nvtx,
        metrics=_with_instances(metrics, number, weight),
        rules=[_rule(i, weight) for i in range(weight.rule_message_count)],
    )


def _take(names: Iterator[str], number: int) -> Iterator[tuple[int, str]]:
    return enumerate(islice(names, number))


def _doubles() -> Iterator[str]:
    """Yield names of counters: event by event, each in four rollups."""
    for suffix, event, unit, rollup in product(_SUFFIXES, _EVENTS, _UNITS, _ROLLUPS):
        yield f"{unit}__{event}.{rollup}{suffix}"


def _integers() -> Iterator[str]:
    for number in count():
        for attribute, subject, aspect in product(_ATTRIBUTES, _SUBJECTS, _ASPECTS):
            yield f"device__attribute_{attribute}_{subject}_{aspect}{number or ''}"


def _list_of_names(size: int) -> str:
    return ",".join(islice(_doubles(), 1 + size // 40))[:size]


def _with_instances(metrics: list[MetricSpec], number: int, weight: Weight) -> list[MetricSpec]:
    """Give the last metrics, those without a value first of all, their instances."""
    counts = weight.instance_counts
    double_count = round(weight.double_instance_fraction * len(counts))
    first = len(metrics) - len(counts)
    # The most instances go to metrics without a value, as the samples over time do.
    return metrics[:first] + [
        MetricSpec(spec.name, spec.value, _instances(size, number, is_double=i < double_count))
        for i, (spec, size) in enumerate(zip(reversed(metrics[first:]), counts, strict=True))
    ]


def _instances(size: int, number: int, *, is_double: bool) -> list[tuple[Value, Value]]:
    """Return values by address: instructions are 16 bytes long."""
    address = 0x100 if size < 200 else 0x7F_0000_0000
    if is_double:
        return [(address + 16 * i, 1.0 + (number + i) / 8) for i in range(size)]
    return [(address + 16 * i, 200 + 31 * (number + i)) for i in range(size)]


def _rule(number: int, weight: Weight) -> FocusedRuleMessage:
    focus = FocusMetric("dram__bytes_read.sum", 1.5, 2, "Increase the share of useful sectors.")
    return FocusedRuleMessage(
        rule=f"MadeUpRule{number}",
        rule_name=f"Made-up Rule {number}",
        section=f"MadeUpSection{number % weight.section_count}",
        severity=4,
        title="A made-up title",
        message=_SENTENCE,
        speedup_pct=12.5,
        speedup_scope=2,
        focus=(focus,) if number % 2 else (),
    )
