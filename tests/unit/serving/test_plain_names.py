"""Headers mean what their words, statistic and unit say; where one is missing, nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.serving.tabular.plain_aliases import ALIASES, LATENCIES, MEMORIES, SHARES
from nsightlens.serving.tabular.plain_names import BATCH, UNCLEAR_RATE, meaning_of
from nsightlens.tables import SERVING_RUNS

OWN = {column.name: column for column in SERVING_RUNS}


@pytest.mark.parametrize("name", [name for name in OWN if name != "run"])
def test_every_column_of_ours_is_known_by_its_own_name(name: str) -> None:
    """Without a change of its unit."""
    found = meaning_of(name)
    assert found is not None
    assert (found.column, found.factor, found.how) == (name, 1.0, "plain")


def test_every_alias_is_of_a_column_that_there_is() -> None:
    """The list cannot name a column that was renamed."""
    columns = {one[0] for one in (*ALIASES.values(), *SHARES.values())} | set(MEMORIES.values())
    columns |= {f"mean_{metric}_ms" for metric, _ in LATENCIES.values()}
    assert columns - {"?input_len", "?output_len"} <= OWN.keys()


@pytest.mark.parametrize(
    ("header", "column", "factor"),
    [
        ("ITL (ms)", "mean_itl_ms", 1.0),
        ("itl_s", "mean_itl_ms", 1e3),
        ("tpot_us", "mean_tpot_ms", 1e-3),
        ("ITL p99 [ns]", "p99_itl_ms", 1e-6),
        ("p50_ttft_s", "median_ttft_ms", 1e3),
        ("itl_ms_p99", "p99_itl_ms", 1.0),
        ("meanItlMs", "mean_itl_ms", 1.0),
        ("mean inter-token latency (s)", "mean_itl_ms", 1e3),
        ("avg_time_per_output_token_ms", "mean_tpot_ms", 1.0),
        ("latency [us]", "mean_e2e_ms", 1e-3),
        ("latency (ms/token)", "mean_tpot_ms", 1.0),
        ("step_ms", "mean_itl_ms", 1.0),
        ("duration_ms", "duration_s", 1e-3),
        ("out_tok_s", "output_tok_per_s", 1.0),
        ("Output token throughput (tok/s)", "output_tok_per_s", 1.0),
        ("total_token_throughput", "total_tok_per_s", 1.0),
        ("in+out tok/s", "total_tok_per_s", 1.0),
        ("decode_tok_s", "decode_tok_per_s", 1.0),
        ("req_s", "requests_per_s", 1.0),
        ("throughput (req/minute)", "requests_per_s", 1 / 60),
        ("throughput", UNCLEAR_RATE, 1.0),
        ("avg_tokens_per_sec", UNCLEAR_RATE, 1.0),
        ("tok/s", UNCLEAR_RATE, 1.0),
        ("batch", BATCH, 1.0),
        ("Batch Size", BATCH, 1.0),
        ("kv_gib", "kv_pool_gib", 1.0),
        ("KV cache (MiB)", "kv_pool_gib", 2**-10),
        ("weights_gb", "weights_gib", 1.0),
        ("kv_peak_pct", "kv_peak_pct", 1.0),
        ("kv_peak (fraction)", "kv_peak_pct", 100.0),
        ("max_kv_cache_usage_perc", "kv_peak_pct", 100.0),
        ("kv_peak_pct_server0", "kv_peak_pct", 1.0),
        ("cpu_time_pct", "host_share_pct", 1.0),
        ("gmu (%)", "gpu_memory_utilization", 0.01),
        ("preempted(excluded by paper)", "preemption_count", 1.0),
    ],
)  # fmt: skip
def test_a_header_gives_a_column_and_a_factor(header: str, column: str, factor: float) -> None:
    """Units are converted once, here."""
    found = meaning_of(header)
    assert found is not None
    assert found.column == column
    assert found.factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("header", "better"),
    [
        ("itl", "mean_itl_ms"),
        ("P99 ITL", "p99_itl_ms"),
        ("duration", "duration_s"),
        ("kv_peak", "kv_peak_pct"),
        ("kv_cache_size", "kv_pool_gib"),
    ],
)
def test_a_header_without_a_unit_names_what_to_write(header: str, better: str) -> None:
    """Whether 0.03 is of seconds is not guessed."""
    found = meaning_of(header)
    assert found is not None
    assert found.factor is None
    assert found.better == better


@pytest.mark.parametrize(
    "header",
    ["", "!!!", "lunch", "itl_min", "ITL (min)", "p90_itl_ms", "p99.9_itl_ms", "std_itl_ms",
     "total_s", "decode_s", "step", "host", "total", "tok/s/user", "tokens_per_second_per_user",
     "tput_per_gpu", "tput_vs_MAX_pct", "output_tokens_per_request", "e2e_s(paper formula)",
     "excluded_by_paper", "kv_peak_rel_to_MAX_pct", "B_opt", "MAX_batch", "itl_pct",
     "throughput (GB/s)", "attention_ms", "mean_median_itl_ms", "ttft (ms/token)", "input_tokens",
     "run", "request_rate (ms)", "mean_duration_s"],
)  # fmt: skip
def test_what_is_not_understood_means_nothing(header: str) -> None:
    """A minimum is no mean, and a rate per user is no throughput."""
    assert meaning_of(header) is None


def test_a_unit_of_the_second_header_counts() -> None:
    """And contradicts a name that has one already."""
    found = meaning_of("itl", "us")
    assert found is not None
    assert found.factor == pytest.approx(1e-3)
    assert meaning_of("mean_itl_ms", "s") is None
    assert meaning_of("mean_itl_ms", "ms") is not None


def test_gigabytes_are_remarked_upon() -> None:
    """Servers write GB for units of 2^30 bytes."""
    found = meaning_of("kv_gb")
    assert found is not None
    assert found.remark == "gb_as_gib"


@given(st.text(max_size=40), st.text(max_size=8))
def test_no_header_makes_it_fail(header: str, unit: str) -> None:
    """Whatever stands there."""
    found = meaning_of(header, unit)
    assert found is None or found.factor is None or found.factor > 0
