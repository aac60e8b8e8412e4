"""The figures of timelines of real traces equal what SQL written by hand says of the same files."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.readers.trace import open_trace
from nsightlens.timelines.timeline import timeline

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.timelines import Timeline

pytestmark = pytest.mark.corpus

FILES = (
    "GindaChen__nsys-ai__tests_fixtures_h100_2gpu_1s.sqlite",
    "GindaChen__nsys-ai__tests_fixtures_healthy_1pct.sqlite",
    "GindaChen__nsys-ai__tests_fixtures_mfu_2gpu_after.sqlite",
    "GindaChen__nsys-ai__tests_fixtures_mfu_2gpu_before.sqlite",
    "GindaChen__nsys-ai__tests_fixtures_mock.sqlite",
    "NVIDIA__Fuser__report1.sqlite",
    "NVIDIA__Fuser__report1_at_da819b5f.sqlite",
    "NVIDIA__Fuser__report2_at_bab69540.sqlite",
)

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
COPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"

# Length of a union: what each interval adds to the latest end before it.
UNION = """
WITH activity AS ({activity}),
     ordered AS (SELECT start, end, MAX(end) OVER (
                        ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                 ) AS reach FROM activity)
SELECT TOTAL(CASE WHEN reach IS NULL OR start >= reach THEN end - start
                  WHEN end > reach THEN end - reach ELSE 0 END),
       MIN(start), MAX(end)
FROM ordered
"""
# The call of a kernel has its correlation id, in the process that the high bits of a thread name.
LATENCIES = f"""
SELECT k.start - r.start FROM {KERNEL} AS k
JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = k.correlationId {{same_process}}
WHERE k.deviceId IN ({{devices}}) ORDER BY 1
"""


class Asked:
    """A trace that answers SQL.

    Parameters
    ----------
    path
        The export.
    """

    def __init__(self, path: Path) -> None:
        self._file = f"file:{path}?mode=ro&immutable=1"
        self.tables = {name for (name,) in self.rows("SELECT name FROM sqlite_master")}
        self.devices = sorted(
            {
                one
                for t in self.kinds()
                for (one,) in self.rows(f"SELECT DISTINCT deviceId FROM {t}")
            }
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows of an answer."""
        with closing(sqlite3.connect(self._file, uri=True)) as file:
            return file.execute(sql).fetchall()

    def kinds(self, *but: str) -> list[str]:
        """Return the tables of what devices did that are there."""
        return [t for t in (KERNEL, COPY, MEMSET) if t in self.tables and t not in but]

    def union(self, devices: list[int], *but: str) -> tuple[int, int, int]:
        """Return length, begin and end [ns] of all that some devices did."""
        named = ", ".join(map(str, devices))
        activity = " UNION ALL ".join(
            f"SELECT start, end FROM {t} WHERE deviceId IN ({named})" for t in self.kinds(*but)
        )
        ((length, first, last),) = self.rows(UNION.format(activity=activity))
        return int(length), first, last

    def sums(self, table: str, what: str, devices: list[int]) -> int:
        """Return a sum over a table of some devices; 0 where it is not there."""
        if table not in self.tables:
            return 0
        named = ", ".join(map(str, devices))
        ((found,),) = self.rows(f"SELECT TOTAL({what}) FROM {table} WHERE deviceId IN ({named})")
        return int(found)

    def latencies(self, devices: list[int]) -> list[int]:
        """Return the time from call to kernel [ns] of each kernel with a call, in order."""
        columns = {one[1] for one in self.rows(f"PRAGMA table_info({KERNEL})")}
        of_calls = {one[1] for one in self.rows("PRAGMA table_info(CUPTI_ACTIVITY_KIND_RUNTIME)")}
        same = ""
        if "globalPid" in columns and "globalTid" in of_calls:
            same = "AND r.globalTid / 16777216 = k.globalPid / 16777216"
        named = ", ".join(map(str, devices))
        return [one for (one,) in self.rows(LATENCIES.format(same_process=same, devices=named))]


@pytest.fixture(scope="module", params=FILES)
def pair(request: pytest.FixtureRequest, corpus_ncu: Path) -> tuple[Timeline, Asked]:
    """Return the timeline of a trace, and the trace itself."""
    path = corpus_ncu.parent / "nsys" / request.param
    if not path.is_file():
        pytest.skip(f"the corpus beside this checkout has no {request.param}")
    return timeline(open_trace(path)), Asked(path)


def _rows(pair: tuple[Timeline, Asked]) -> list[tuple[dict[str, Any], list[int]]]:
    """Return the rows of the whole trace, each with its devices."""
    found, asked = pair
    rows = found.steps.to_pylist()
    return [
        (row, asked.devices if row["device_id"] is None else [row["device_id"]]) for row in rows
    ]


def test_a_trace_without_steps_is_one_step(pair: tuple[Timeline, Asked]) -> None:
    """One row for all devices together and, of several, one for each."""
    found, asked = pair
    devices = [row["device_id"] for row, _ in _rows(pair)]
    assert devices == [None, *(asked.devices if len(asked.devices) > 1 else [])]
    assert {row["name"] for row, _ in _rows(pair)} == {"(trace)"}
    assert any("whole trace" in note for note in found.notes)


def test_busy_is_the_union_over_streams_and_devices(pair: tuple[Timeline, Asked]) -> None:
    """To the nanosecond; what is not busy is idle, and nothing is busy for longer than its wall."""
    _, asked = pair
    _, first, last = asked.union(asked.devices)
    for row, devices in _rows(pair):
        assert row["wall_ns"] == last - first
        assert row["busy_ns"] == asked.union(devices)[0]
        assert row["idle_ns"] == row["wall_ns"] - row["busy_ns"] >= 0


def test_every_kernel_and_copy_is_counted_once(pair: tuple[Timeline, Asked]) -> None:
    """With the sum of their durations, whether they ran at once or not."""
    found, asked = pair
    total = next(row for row, _ in _rows(pair) if row["device_id"] is None)
    assert total["kernel_count"] == asked.sums(KERNEL, "1", asked.devices)
    assert total["kernel_duration_ns"] == asked.sums(KERNEL, "end - start", asked.devices)
    assert total["copy_count"] == asked.sums(COPY, "1", asked.devices)
    families = found.families.to_pylist()
    assert sum(row["kernel_count"] for row in families) == total["kernel_count"]
    assert sum(row["duration_ns"] for row in families) == total["kernel_duration_ns"]
    assert math.isclose(sum(row["duration_share_pct"] for row in families), 100)


def test_a_copy_is_exposed_where_its_device_runs_no_kernel(pair: tuple[Timeline, Asked]) -> None:
    """The union with copies less the union without them; of all devices where none runs one."""
    _, asked = pair
    for row, devices in _rows(pair):
        alone = asked.union(devices)[0] - asked.union(devices, COPY)[0]
        assert row["copy_exposed_ns"] == alone


def test_copies_have_the_bytes_and_times_of_the_trace(pair: tuple[Timeline, Asked]) -> None:
    """By direction: bytes over time is the bandwidth."""
    found, asked = pair
    names = {1: "host_to_device", 2: "device_to_host", 8: "device_to_device", 10: "peer_to_peer"}
    expected = {}
    if COPY in asked.tables:
        sql = (
            f"SELECT copyKind, COUNT(*), SUM(bytes), SUM(end - start) FROM {COPY} GROUP BY copyKind"
        )
        expected = {names[kind]: tuple(rest) for kind, *rest in asked.rows(sql)}
    seen: dict[str, tuple[int, ...]] = {}
    for row in found.copies.to_pylist():
        numbers = (row["copy_count"], row["copied_bytes"], row["duration_ns"])
        before = seen.get(row["direction"], (0, 0, 0))
        seen[row["direction"]] = tuple(a + b for a, b in zip(before, numbers, strict=True))
        if row["duration_ns"]:
            rate = row["copied_bytes"] / row["duration_ns"] * 1e9
            assert math.isclose(row["bandwidth_bytes_per_s"], rate)
        assert 0 <= row["exposed_ns"] <= row["duration_ns"]
    assert seen == expected


def test_launch_latencies_are_those_of_kernels_with_a_call(pair: tuple[Timeline, Asked]) -> None:
    """Median and ninth decile by nearest rank; a trimmed trace has fewer calls than kernels."""
    _, asked = pair
    for row, devices in _rows(pair):
        known = asked.latencies(devices)
        for name, share in (("median", 50), ("p90", 90)):
            rank = max(math.ceil(len(known) * share / 100) - 1, 0)
            assert row[f"launch_latency_{name}_ns"] == (known[rank] if known else None)


def test_gaps_are_the_idle_time_between_activities(pair: tuple[Timeline, Asked]) -> None:
    """All of it: their sum by cause is the idle time of the device from its first to its last."""
    found, asked = pair
    gaps = found.gaps.to_pylist()
    for device in asked.devices:
        length, first, last = asked.union([device])
        mine = [row for row in gaps if row["device_id"] == device]
        assert sum(row["duration_ns"] for row in mine) == last - first - length
        assert all(row["end_ns"] - row["start_ns"] == row["duration_ns"] > 0 for row in mine)
    for row, devices in _rows(pair):
        if len(devices) == 1:
            causes = sum(
                row[f"idle_{one}_ns"] for one in ("launch", "host", "sync", "queued", "unknown")
            )
            known = sum(g["duration_ns"] for g in gaps if g["device_id"] == devices[0])
            assert causes == known


def test_kernels_without_a_call_make_no_gap_launch_bound(corpus_ncu: Path) -> None:
    """Half of the calls of this trace were cut off: what the host did there is not known."""
    path = corpus_ncu.parent / "nsys" / FILES[0]
    if not path.is_file():
        pytest.skip(f"the corpus beside this checkout has no {FILES[0]}")
    trace = open_trace(path)
    kernels = trace.kernels.select(["start_ns", "device_id", "api_start_ns"]).to_pylist()
    without = {(k["start_ns"], k["device_id"]) for k in kernels if k["api_start_ns"] is None}
    with_call = {(k["start_ns"], k["device_id"]) for k in kernels} - without
    gaps = timeline(trace).gaps.to_pylist()
    cut = [g for g in gaps if (g["end_ns"], g["device_id"]) in without - with_call]
    assert cut
    assert {g["cause"] for g in cut if g["next_kernel"] is not None} == {"unknown"}
