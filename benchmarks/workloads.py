"""What is measured: the reports that the benchmark writes, and how heavy a launch in each is.

The weights were counted in real reports, field by field: numbers of metrics by kind of value, of
instances, rule messages and section definitions, and their bytes. `benchmarks.reports` writes
reports of these weights; this module is read by the process that measures, which has to stay
small (see `benchmarks.measure`), and imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

__all__ = ["WORKLOADS", "Weight", "Workload", "shortened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What one launch stores.

    Parameters
    ----------
    double_count, integer_count, text_count, null_count
        Metrics by the kind of their value; null ones have only instances.
    text_bytes
        Length [B] of each text, longest of them the breakdowns of a throughput, in turn.
    instance_counts
        Instances of the metrics that have any.
    double_instance_fraction
        Part of the instanced metrics whose instances are doubles; integers otherwise.
    section_count, section_bytes
        Section definitions, and their size [B] together.
    rule_message_count
        Messages of NVIDIA's rules.
    """

    double_count: int
    integer_count: int
    text_count: int
    null_count: int
    text_bytes: tuple[int, ...]
    instance_counts: tuple[int, ...]
    double_instance_fraction: float
    section_count: int
    section_bytes: int
    rule_message_count: int

    @property
    def metric_count(self) -> int:
        """Metrics of one launch."""
        return self.double_count + self.integer_count + self.text_count + self.null_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One report to write and read.

    Parameters
    ----------
    name
        What ``--only`` takes.
    about
        What it is, for the table.
    launch_count
        Kernel launches.
    weight
        What each of them stores.
    source_count, source_bytes
        Program binaries in the file, and their size [B] each.
    is_read_by_ncu_report
        Whether NVIDIA's reader is measured too. It never frees the sections of a launch, so that
        the largest report would take it more memory than most machines have.
    heavier
        The same launches with heavier parts that we skip: reading them must not take more memory.
    """

    name: str
    about: str
    launch_count: int
    weight: Weight
    source_count: int = 4
    source_bytes: int = 500_000
    is_read_by_ncu_report: bool = True
    heavier: Workload | None = field(default=None, repr=False)


# --set basic: 513 metrics, as ncu 2023 collects on a GeForce RTX 2060; instances, sections and
# rules as ncu 2025 stores them.
_BASIC = Weight(
    double_count=311,
    integer_count=191,
    text_count=11,
    null_count=0,
    text_bytes=(1450,),
    instance_counts=(257, 128, 65, *[24] * 56),
    double_instance_fraction=0.01,
    section_count=4,
    section_bytes=9_400,
    rule_message_count=4,
)
# --set full: ncu 2024 on an H100, a kernel of a few hundred instructions.
_FULL = Weight(
    double_count=1082,
    integer_count=275,
    text_count=20,
    null_count=4,
    text_bytes=(1600, 1600, 1600, 1600, 10_700, 250, 12_000, 2_700, 4_900, 1_200),
    instance_counts=(
        *[1917] * 2, *[435] * 6, 456, 257, *[241] * 9, *[113] * 39, *[83] * 4, *[63] * 11,
        *[8] * 7, *[2] * 9, *[1] * 36,
    ),
    double_instance_fraction=0.41,
    section_count=17,
    section_bytes=39_000,
    rule_message_count=24,
)  # fmt: skip
# --metrics alone: the metrics asked for and those that ncu always stores.
_METRICS_ONLY = Weight(
    double_count=110,
    integer_count=130,
    text_count=4,
    null_count=0,
    text_bytes=(20,),
    instance_counts=(257, 256, 128),
    double_instance_fraction=0.0,
    section_count=1,
    section_bytes=440,
    rule_message_count=0,
)

_BASIC_2000 = Workload(
    name="basic-2000",
    about="--set basic",
    launch_count=2_000,
    weight=_BASIC,
    heavier=Workload(
        name="basic-2000-heavier",
        about="sections and sources x 4",
        launch_count=2_000,
        weight=replace(_BASIC, section_bytes=4 * _BASIC.section_bytes),
        source_bytes=2_000_000,
    ),
)
_FULL_200 = Workload(
    name="full-200",
    about="--set full",
    launch_count=200,
    weight=_FULL,
    heavier=Workload(
        name="full-200-heavier",
        # From ncu 2025.1 on, the definition of the tensor roofline alone takes that much.
        about="sections of ncu 2025.1 (424 KB a launch), sources x 4",
        launch_count=200,
        weight=replace(_FULL, section_count=18, section_bytes=424_000),
        source_bytes=2_000_000,
    ),
)

WORKLOADS = (
    _BASIC_2000,
    replace(
        _BASIC_2000,
        name="basic-20000",
        launch_count=20_000,
        is_read_by_ncu_report=False,
        heavier=None,
    ),
    _FULL_200,
    Workload(
        name="metrics-20000",
        about="--metrics alone",
        launch_count=20_000,
        weight=_METRICS_ONLY,
        source_count=0,
    ),
)


def shortened(workload: Workload, launch_count: int) -> Workload:
    """Return the same report with fewer launches."""
    heavier = workload.heavier and shortened(workload.heavier, launch_count)
    return replace(workload, launch_count=launch_count, heavier=heavier)
