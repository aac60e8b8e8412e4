"""AIPerf's table of a server's metrics gives means and peaks without samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry.prometheus_csv import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

STATISTICS = FORMATS[0]
HEAD = "# AIPerf Server Metrics Export (CSV)\n# schema_version: 1.0\n#\n"
GAUGES = (
    "Endpoint,Type,Metric,Unit,avg,min,max,std,p1,p99,engine,Description\n"
    "h:1,gauge,vllm:kv_cache_usage_perc,ratio,0.2500,0,0.7500,0,0,0,0,use\n"
    "h:1,gauge,vllm:num_requests_running,requests,12.5000,0,16,0,0,0,0,x\n"
    "h:1,gauge,vllm:num_requests_running,requests,10.0000,0,15,0,0,0,1,x\n"
)
COUNTERS = (
    "\nEndpoint,Type,Metric,Unit,total,rate,rate_avg,Description\n"
    "h:1,counter,vllm:num_preemptions_total,,3,0.1,0.1,x\n"
    "h:1,counter,vllm:num_requests_running,,,,,\n"
)
INFO = (
    "\nEndpoint,Metric,Key,Value,Description\n"
    "h:1,vllm:cache_config_info,block_size,16,x\n"
    "h:1,vllm:cache_config_info,num_gpu_blocks,27000,x\n"
    "h:1,vllm:cache_config_info,gpu_memory_utilization,0.9,x\n"
    "h:1,vllm:cache_config_info,enable_prefix_caching,True,x\n"
)


def _file(folder: Path, text: str) -> OpenedFile:
    path = folder / "server_metrics_export.csv"
    path.write_text(text, encoding="utf-8")
    return OpenedFile(path, path.name)


def test_means_and_peaks_are_taken(tmp_path: Path) -> None:
    """What runs is added up over engines, and settings come from the last section."""
    file = _file(tmp_path, HEAD + GAUGES + COUNTERS + INFO)
    assert STATISTICS.claims(file)
    assert not FORMATS[1].claims(file)
    (part,) = STATISTICS.read(file)
    assert part.values == {
        "kv_mean_pct": 25.0,
        "kv_peak_pct": 75.0,
        "mean_running": 22.5,
        "max_running": 31.0,
        "preemption_count": 3.0,
        "block_size": 16,
        "kv_block_count": 27000,
        "gpu_memory_utilization": 0.9,
    }
    assert part.wheres["mean_running"] == "line 6"
    assert part.derived["mean_running"] == "avg over the run, of 2 engines"


def test_what_was_not_collected_is_absent(tmp_path: Path) -> None:
    """A use of 0 was not exported, and no counter is not no preemption."""
    text = HEAD + GAUGES.replace("0.2500,0,0.7500", "0.0,0,0.0")
    (part,) = STATISTICS.read(_file(tmp_path, text))
    assert "kv_peak_pct" not in part.values
    assert "preemption_count" not in part.values
    zero = HEAD + GAUGES + COUNTERS.replace(",3,0.1", ",0,0.0")
    (part,) = STATISTICS.read(_file(tmp_path, zero))
    assert part.values["preemption_count"] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "Endpoint,Type,Metric,Unit,avg\nh:1,gauge,vllm:foo,,1\n",
        HEAD + "Endpoint,Type,Metric,Unit,avg\nh:1,gauge,vllm:num_requests_running,,nan\n",
        HEAD + "Endpoint,Type,Metric,Unit,avg\n",
        HEAD + GAUGES[:90],
    ],
)
def test_a_table_without_a_known_metric_is_refused(tmp_path: Path, text: str) -> None:
    """Cut or of another server."""
    file = _file(tmp_path, text)
    assert STATISTICS.claims(file)
    with pytest.raises(ServingFileError, match="no metric that is known"):
        STATISTICS.read(file)
