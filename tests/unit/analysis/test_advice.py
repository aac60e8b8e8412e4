"""No advice without its number: every rule speaks where its numbers do, and nowhere else."""

from __future__ import annotations

import string
from typing import Any

import pytest
from support.explained import quantities_of

from nsightlens.analysis.advice import advise
from nsightlens.analysis.advice_rules import RULES

_LSU = "l1tex__t_{}_pipe_lsu_mem_{}.sum"
_HMMA = "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum"
_HGMMA = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum"


def _requests(**counts: float) -> dict[str, float]:
    operations = ("global_op_ld", "global_op_st", "global_op_atom", "global_op_red", "local_op_ld",
                  "local_op_st")  # fmt: skip
    return {_LSU.format("requests", name): counts.get(name, 0.0) for name in operations}


def _fused(letter: str, add: float, fma: float) -> dict[str, float]:
    base = "smsp__sass_thread_inst_executed_op_"
    values = {f"{letter}add": add, f"{letter}mul": 0.0, f"{letter}fma": fma}
    return {f"{base}{name}_pred_on.sum": value for name, value in values.items()}


def _limited(limiter: str, fraction: float, bound: str) -> dict[str, Any]:
    return {
        f"fraction:{limiter}": fraction,
        "limiter": limiter,
        "limiter_fraction": fraction,
        "bound": bound,
        "regime": "saturated" if fraction >= 0.6 else "latency",
    }


def _cache(level: str, counter: str, fraction: float = 0.9) -> dict[str, Any]:
    """Return the numbers of a launch that a cache limits, by one of its counters."""
    return {
        **_limited(level, fraction, "memory"),
        f"counter:{level}": f"{counter}.avg.pct_of_peak_sustained_elapsed",
    }


def _split(wavefronts: float, requests: float, data: float, **others: Any) -> dict[str, Any]:
    """Return the numbers of a launch whose wavefronts are the busiest part of L1."""
    suffix = ".avg.pct_of_peak_sustained_elapsed"
    return {
        **_cache("l1", "l1tex__data_pipe_lsu_wavefronts", wavefronts / 100),
        f"l1tex__data_pipe_lsu_wavefronts{suffix}": wavefronts,
        f"l1tex__lsuin_requests{suffix}": requests,
        f"l1tex__lsu_writeback_active{suffix}": data,
        **others,
    }


_REGISTERS = "device__attribute_max_registers_per_multiprocessor"
_NO_SHARED = {"shared_memory_static_bytes": 0, "shared_memory_dynamic_bytes": 0}
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"


def _waiting(state: str) -> dict[str, Any]:
    return {"regime": "latency", "top_stall": state, "top_stall_pct": 58.0}


_STARVED = {
    "regime": "latency",
    "theoretical_occupancy_pct": 25.0,
    "eligible_warps_per_scheduler": 0.3,
    "waves_per_multiprocessor": 8.0,
    "tensor_pipe_active_pct": 0.0,
}

HOLDS: list[tuple[str, dict[str, Any], str]] = [
    ("padding", {"executed_per_useful_flop": 4.0, "bound": "compute"}, "4 operations"),
    (
        "bytes_above_algorithm",
        {"dram_per_algorithmic_byte": 2.0, "l2_hit_rate_pct": 31.0},
        "2 bytes pass DRAM",
    ),
    (
        "spills",
        {"registers_per_thread_count": 255, **_requests(global_op_ld=80, local_op_ld=20)},
        "20 % of the memory requests",
    ),
    (
        "small_grid",
        {"grid_block_count": 16, "sm_count": 108, "family": "attention", "phase": "decode"},
        "only 16 of 108 SMs: split the KV",
    ),
    (
        "small_grid",
        {"grid_block_count": 16, "sm_count": 108, "family": "gemm"},
        "only 16 of 108 SMs: split K",
    ),
    (
        "small_grid",
        {
            "regime": "small_grid",
            "waves_per_multiprocessor": 0.3,
            "achieved_occupancy_pct": 11.0,
        },
        "0.3 waves",
    ),
    ("short", {"duration_ns": 2000.0, "regime": "latency"}, "2 us"),
    (
        "dram_saturated",
        {**_limited("dram", 0.9, "memory"), "family": "attention", "phase": "decode"},
        "a larger batch adds bytes as fast as work",
    ),
    (
        "dram_saturated",
        {
            **_limited("dram", 0.9, "memory"),
            "family": "gemm",
            "arithmetic_intensity_flop_per_byte": 4.0,
            "ridge_point_flop_per_byte": 200.0,
        },
        "about 50 times as many rows",
    ),
    (
        "dram_saturated",
        {**_limited("dram", 0.9, "memory"), "family": "gemm"},
        "more rows (a larger batch) take little longer; weights",
    ),
    (
        "dram_saturated",
        {
            **_limited("dram", 0.9, "memory"),
            "family": "gemm",
            "subtype": "gemv",
            "dram_bytes": 32e6,
        },
        "reads the 32 MB once for all",
    ),
    (
        "dram_saturated",
        {**_limited("dram", 0.9, "memory"), "family": "norm", "dram_bytes": 1e9},
        "Fuse with the kernel before or after it, so that these 1 GB",
    ),
    (
        "dram_headroom",
        {**_limited("dram", 0.7, "memory"), "duration_ns": 50_000.0},
        "at 70 %, and about 90 % can be had",
    ),
    (
        "cuda_cores_in_a_gemm",
        {
            "family": "gemm",
            "compute_capability": "8.0",
            "device_name": "NVIDIA A100",
            "tensor_pipe_active_pct": 0.0,
            "fraction:fp32": 0.85,
        },
        "active 0 %, FP32 units reach 85 %",
    ),
    (
        "mma_sync_on_hopper",
        {
            **_limited("tensor_bf16", 0.62, "compute"),
            "compute_capability": "9.0",
            _HMMA: 9e12,
            _HGMMA: 1e12,
        },
        "90 % of the tensor work is done by mma.sync",
    ),
    ("tensor_roof", _limited("tensor_bf16", 0.78, "compute"), "tensor cores are at 78 %"),
    (
        "operands_not_hidden",
        {**_limited("tensor_bf16", 0.5, "compute"), "stalled_for_data_pct": 35.0},
        "reach 50 %",
    ),
    (
        "few_fp64_units",
        {**_limited("fp64", 0.9, "compute"), "peak:fp64": 1e12, "peak:fp32": 64e12},
        "64 times as much FP32",
    ),
    (
        "unfused_fp64",
        {**_limited("fp64", 0.9, "compute"), **_fused("d", 6.0, 4.0)},
        "60 % of the FP64 instructions",
    ),
    (
        "unfused_fp32",
        {**_limited("fp32", 0.9, "compute"), **_fused("f", 6.0, 4.0)},
        "60 % of the FP32 instructions",
    ),
    (
        "bank_conflicts",
        {
            **_limited("l1", 0.9, "memory"),
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 30.0,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 100.0,
        },
        "30 % of the shared-memory wavefronts",
    ),
    (
        "excess_sectors",
        {
            **_limited("l2", 0.5, "memory"),
            "derived__memory_l2_theoretical_sectors_global_excessive": 50.0,
            "memory_l2_theoretical_sectors_global": 100.0,
        },
        "50 % of the sectors",
    ),
    (
        "scattered_loads",
        {
            **_limited("l2", 0.5, "memory"),
            _LSU.format("sectors", "global_op_ld"): 310.0,
            _LSU.format("requests", "global_op_ld"): 10.0,
        },
        "touches 31 sectors",
    ),
    ("atomics", _requests(global_op_ld=80, global_op_red=20), "20 % of the global requests"),
    ("l2_roof", _limited("l2", 0.7, "memory"), "L2 is at 70 %"),
    ("l2_roof", _cache("l2", "lts__lts2xbar_cycles_active"), "so that less passes L2"),
    (
        "l2_tags",
        {
            **_cache("l2", "lts__t_tag_requests"),
            "lts__t_sectors.sum": 13,
            "lts__t_requests.sum": 10,
        },
        "a request has 1.3 sectors of the 4",
    ),
    ("l2_tags", _cache("l2", "lts__t_tag_requests"), "many requests for what is moved"),
    ("l2_atomics", _cache("l2", "lts__d_atomic_input_cycles_active"), "at 90 % with atomics"),
    ("l2_sysmem", _cache("l2", "lts__d_sectors_fill_sysmem"), "from system memory at 90 %"),
    ("l2_stores", _cache("l2", "lts__xbar2lts_cycles_active"), "stores reach L2 at 90 %"),
    ("l1_roof", _limited("l1", 0.7, "memory"), "is at 70 %"),
    (
        "l1_uncoalesced",
        _split(97.5, 11.8, 6.1, **_NO_SHARED),
        "by wavefronts, while requests are at 12 % and data return at 6.1 %: 16 wavefronts",
    ),
    ("l1_uncoalesced", _split(90, 10, 9, **{_SHARED: 9.0}), "neighbouring addresses"),
    ("l1_uncoalesced", _split(41, 6.7, 11, **_NO_SHARED), "exchange the roles of the thread"),
    ("l1_conflicts", _split(90, 10, 9, **{_SHARED: 81.0}), "90 % of them are in shared memory"),
    ("l1_split", _split(99.6, 6.9, 10.1), "9.86 wavefronts where one is enough. Either"),
    ("l1_requests", _cache("l1", "sm__inst_executed_pipe_lsu"), "leave the SM at 90 %"),
    ("l1_requests", _cache("l1", "l1tex__lsuin_requests"), "Access 16 bytes a thread"),
    ("l1_bytes", _cache("l1", "l1tex__lsu_writeback_active"), "at 90 % with data that are really"),
    ("l1_bytes", _split(90, 40, 88, **_NO_SHARED), "wider accesses move no less"),
    ("l1_tags", _cache("l1", "l1tex__t_sectors"), "the tags of L1 are at 90 %"),
    (
        "l1_remote",
        _cache("l1", "l1tex__m_xbar2l1tex_read_sectors_mem_dshared"),
        "other SMs of the cluster is read at 90 %",
    ),
    ("l1_constants", _cache("l1", "idc__request_cycles_active"), "indexed constants is at 90 %"),
    ("l1_textures", _cache("l1", "l1tex__f_wavefronts"), "the texture path is at 90 %"),
    (
        "local_array",
        {"registers_per_thread_count": 32, **_requests(global_op_ld=80, local_op_st=20)},
        "20 requests write to local memory and 0 read it",
    ),
    (
        "few_warps",
        {
            "regime": "latency",
            "limiter_fraction": 0.56,
            "limiter": "issue",
            "fraction:issue": 0.56,
            "occupancy_limiter": "registers",
            "achieved_occupancy_pct": 30.0,
            "theoretical_occupancy_pct": 37.5,
            "waves_per_multiprocessor": 100.0,
        },
        "no resource is above 56 %",
    ),
    (
        "few_ready",
        {
            **_limited("dram", 0.49, "memory"),
            "achieved_occupancy_pct": 54.0,
            "eligible_warps_per_scheduler": 0.03,
        },
        "a scheduler has 0.03 warps ready",
    ),
    (
        "short_blocks",
        {
            "regime": "latency",
            "achieved_occupancy_pct": 38.0,
            "theoretical_occupancy_pct": 100.0,
            "waves_per_multiprocessor": 10.7,
            "block_thread_count": 256,
        },
        "38 % of the warps that an SM can hold are there on average, where 100 % can be",
    ),
    ("xu_roof", _limited("xu", 0.7, "compute"), "is at 70 %"),
    ("integer_roof", _limited("integer", 0.8, "compute"), "the integer pipe is at 80 %"),
    ("barriers", {**_waiting("barrier"), "block_thread_count": 512}, "58 % of their time at barr"),
    ("narrow_accesses", _waiting("lg_throttle"), "58 % of warp latency is a full queue"),
    ("shared_memory_queue", _waiting("short_scoreboard"), "58 % of warp latency is waiting for"),
    ("dependent_instructions", _waiting("wait"), "58 % of warp latency is the fixed latency"),
    ("code_size", {**_waiting("no_instruction"), "duration_ns": 1e6}, "58 % of their time for ins"),
    ("issue_roof", _limited("issue", 0.7, "compute"), "70 % of the issue slots"),
    ("tail", {"waves_per_multiprocessor": 1.1}, "up to 45 % of the room for blocks"),
    (
        "registers",
        {**_STARVED, "occupancy_limiter": "registers", "registers_per_thread_count": 168},
        "168 registers a thread allow 25 %",
    ),
    (
        "registers",
        {
            **_STARVED,
            "occupancy_limiter": "registers",
            "registers_per_thread_count": 40,
            "block_thread_count": 1024,
            _REGISTERS: 65_536,
        },
        "in blocks of 1,024 threads, and leave 38 % of the registers unused",
    ),
    (
        "registers",
        {**_STARVED, "occupancy_limiter": "registers", "family": "gemm"},
        "before making them smaller",
    ),
    (
        "registers",
        {**_STARVED, "occupancy_limiter": "registers", "family": "gemm", "subtype": "gemv"},
        "fewer registers (launch bounds)",
    ),
    ("partial_warps", {"block_thread_count": 10}, "10 threads are no whole warps of 32: 69 %"),
    (
        "registers",
        {**_STARVED, "occupancy_limiter": "registers"},
        "registers allow 25 %",
    ),
    (
        "shared_memory",
        {**_STARVED, "occupancy_limiter": "shared_mem", "shared_memory_per_block_bytes": 98_304},
        "98.3 kB of shared memory",
    ),
    (
        "block_size",
        {**_STARVED, "occupancy_limiter": "blocks", "block_thread_count": 32},
        "blocks of 32 threads",
    ),
    (
        "loads_in_flight",
        {"regime": "latency", "stalled_for_data_pct": 61.0, "fraction:dram": 0.14},
        "61 % of their time for data while DRAM is at 14 %",
    ),
    (
        "divergence",
        {"bound": "compute", "smsp__thread_inst_executed_per_inst_executed.ratio": 12.0},
        "12 of 32 threads",
    ),
    (
        "clock_dependent",
        {
            "clock_dependent": True,
            "fraction:fp64": 0.7,
            "sm_clock_hz": 1.0e9,
            "ridge_point_flop_per_byte": 100.0,
            "ridge_point_boost_flop_per_byte": 150.0,
        },
        "boost clock (1.5 GHz), with arithmetic at 70 %",
    ),
]


def _rule(name: str, numbers: dict[str, Any]) -> str | None:
    advice = {one.rule: one.text for one in advise(quantities_of(numbers), most=len(RULES))}
    return advice.get(name)


@pytest.mark.parametrize(("rule", "numbers", "said"), HOLDS)
def test_a_rule_speaks_where_its_numbers_do(rule: str, numbers: dict[str, Any], said: str) -> None:
    """With the numbers in its words."""
    text = _rule(rule, numbers)
    assert text is not None
    assert said in text


def test_every_rule_has_such_an_example() -> None:
    """A rule that no numbers make speak is not tested, or not needed."""
    assert {rule for rule, _, _ in HOLDS} == {rule.name for rule in RULES}


@pytest.mark.parametrize(("rule", "numbers"), [row[:2] for row in HOLDS])
def test_without_any_one_of_its_numbers_a_rule_does_not_say_the_same(
    rule: str, numbers: dict[str, Any]
) -> None:
    """Every number that is printed is needed: without it the sentence is gone."""
    (advice,) = [a for a in advise(quantities_of(numbers), most=99) if a.rule == rule]
    for number in advice.numbers:
        kept = {
            name: value
            for name, value in numbers.items()
            if name != number.name
            and name.partition(":")[2] != number.name.removesuffix("_of_peak_pct")
        }
        if len(kept) < len(numbers):
            assert _rule(rule, kept) != advice.text


def test_each_advice_carries_the_numbers_that_it_prints() -> None:
    """What stands in the text is what a program reads beside it."""
    for rule, numbers, _ in HOLDS:
        for advice in advise(quantities_of(numbers), most=99):
            assert advice.numbers, rule
            assert all(str(number) in advice.text for number in advice.numbers)


def test_a_text_prints_at_least_one_number() -> None:
    """Otherwise it would be advice for anybody."""
    for rule in RULES:
        for text in rule.text.values():
            names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
            assert names, rule.name


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"is_failed_collection": True, "grid_block_count": 1, "sm_count": 100},
        {"grid_block_count": 100, "sm_count": 108},
        {"executed_per_useful_flop": 66.0, "bound": "memory"},
        {**_split(50, 30, 10), "regime": "latency"},
        _cache("l1", "l1tex__lsu_writeback_active", 0.5),
        {"regime": "latency", "stalled_for_data_pct": 61.0},
    ],
    ids=[
        "nothing",
        "failed",
        "nearly all SMs",
        "padding beside memory",
        "split little",
        "L1 half busy",
        "no DRAM figure",
    ],
)
def test_there_is_no_advice_where_no_number_speaks_for_it(numbers: dict[str, Any]) -> None:
    """Padding of tensor cores costs nothing while DRAM is the limit, for one."""
    assert advise(quantities_of(numbers)) == ()


def test_a_gtx_16_is_not_told_of_tensor_cores() -> None:
    """It is of compute capability 7.5 and has none."""
    numbers = dict(next(n for rule, n, _ in HOLDS if rule == "cuda_cores_in_a_gemm"))
    numbers |= {"device_name": "NVIDIA GeForce GTX 1660 Ti", "compute_capability": "7.5"}
    assert _rule("cuda_cores_in_a_gemm", numbers) is None


def test_no_more_is_said_than_was_asked_for() -> None:
    """Advice is a few things, not all that could be said."""
    numbers = {
        **_requests(global_op_ld=50, local_op_ld=30, global_op_red=20),
        "registers_per_thread_count": 255,
        "grid_block_count": 1,
        "sm_count": 100,
        "duration_ns": 1000.0,
        "regime": "latency",
    }
    assert [a.rule for a in advise(quantities_of(numbers))] == ["small_grid", "spills", "short"]
    assert len(advise(quantities_of(numbers), most=1)) == 1


def test_a_cache_has_one_cause_and_one_piece_of_advice() -> None:
    """Whatever its counter: wider accesses do not help where they do not coalesce."""
    for rule, numbers, _ in HOLDS:
        if rule.startswith(("l1_", "l2_")):
            said = [a.rule for a in advise(quantities_of(numbers), most=99)]
            assert [one for one in said if one.startswith(("l1_", "l2_"))] == [rule]


def test_stores_alone_are_not_taken_for_accesses_that_lie_apart() -> None:
    """They return no data: 4 wavefronts a request are what 16 bytes a thread need."""
    numbers = _split(90, 22.5, 0.1, **_NO_SHARED)
    assert _rule("l1_uncoalesced", numbers) is None
    assert _rule("l1_roof", numbers) is not None


def test_what_was_counted_in_sectors_is_not_said_again_in_wavefronts() -> None:
    """Both would be the same advice twice."""
    counted = {
        "derived__memory_l2_theoretical_sectors_global_excessive": 50.0,
        "memory_l2_theoretical_sectors_global": 100.0,
    }
    rules = [a.rule for a in advise(quantities_of(_split(90, 10, 9, **_NO_SHARED, **counted)))]
    assert rules == ["excess_sectors"]


def test_lines_that_are_requested_whole_need_no_better_layout() -> None:
    """With 4 sectors a request it is the data that fill L2."""
    numbers = {**_cache("l2", "lts__t_tag_requests"), "lts__t_sectors.sum": 40.0}
    numbers["lts__t_requests.sum"] = 10.0
    assert _rule("l2_tags", numbers) is None
    assert _rule("l2_roof", numbers) is not None


def test_sectors_that_dram_does_not_see_cost_a_launch_nothing_that_dram_limits() -> None:
    """Half of the touched sectors are in vain, and DRAM moved no more than was wanted."""
    numbers = {
        **_limited("dram", 0.91, "memory"),
        "derived__memory_l2_theoretical_sectors_global_excessive": 50.0,
        "memory_l2_theoretical_sectors_global": 100.0,
        "memory_l2_theoretical_sectors_global_ideal": 50.0,
        "dram_bytes": 1500.0,
    }
    assert _rule("excess_sectors", numbers) is None
    assert _rule("excess_sectors", {**numbers, "dram_bytes": 3000.0}) is not None


def test_an_array_that_is_never_read_is_no_spill_and_a_spill_is_no_such_array() -> None:
    """By the loads and stores of local memory; where DRAM is full, idle stores cost nothing."""
    numbers = {"registers_per_thread_count": 32}
    written = {**numbers, **_requests(global_op_ld=80, local_op_st=20)}
    read = {**numbers, **_requests(global_op_ld=80, local_op_st=10, local_op_ld=20)}
    assert (_rule("spills", written), _rule("local_array", read)) == (None, None)
    assert _rule("spills", read) is not None
    assert _rule("local_array", {**written, **_limited("dram", 0.9, "memory")}) is None


def test_the_clock_is_spoken_of_only_where_arithmetic_takes_time() -> None:
    """A launch that waits for L1 with its units idle is none the faster at another clock."""
    numbers = dict(next(n for rule, n, _ in HOLDS if rule == "clock_dependent"))
    idle = {**numbers, "fraction:fp64": 0.19, "bound": "memory"}
    assert _rule("clock_dependent", idle) is None
    assert _rule("clock_dependent", {**idle, "bound": "compute"}) is not None


def test_a_grid_for_four_fifths_of_the_gpu_is_a_small_one() -> None:
    """A fifth of the SMs idle all the time; with nearly all at work there is nothing to say."""
    numbers = {"sm_count": 80, "family": "gemm"}
    assert _rule("small_grid", {**numbers, "grid_block_count": 64}) is not None
    assert _rule("small_grid", {**numbers, "grid_block_count": 74}) is None


def test_a_tail_costs_nothing_where_dram_is_full_all_the_time() -> None:
    """Nor can a launch of a few microseconds have all of the bandwidth."""
    full = {**_limited("dram", 0.93, "memory"), "waves_per_multiprocessor": 1.1}
    short = {**_limited("dram", 0.7, "memory"), "duration_ns": 10_000.0}
    assert _rule("tail", full) is None
    assert _rule("dram_headroom", short) is None
    assert _rule("dram_headroom", {**short, "duration_ns": 50_000.0}) is not None


def test_how_much_less_fp64_a_gpu_has_is_known_without_counted_peaks() -> None:
    """By its compute capability; and it is said where integers are busier still."""
    numbers = {**_limited("integer", 0.8, "compute"), "fraction:fp64": 0.76}
    assert "32 times" in (_rule("few_fp64_units", {**numbers, "compute_capability": "7.5"}) or "")
    assert _rule("few_fp64_units", {**numbers, "compute_capability": "8.0"}) is None


def test_a_kernel_that_merges_splits_is_not_told_to_split_more() -> None:
    """It counts as attention and reads no keys: more splits would be more work for it."""
    numbers = {"grid_block_count": 4, "sm_count": 132, "family": "attention", "phase": "decode"}
    assert "KV" in (_rule("small_grid", {**numbers, "subtype": "flash_splitkv"}) or "")
    merge = _rule("small_grid", {**numbers, "subtype": "splitkv_combine"}) or ""
    assert "spread the work over more blocks" in merge


def test_blocks_that_fill_the_registers_are_not_told_to_be_smaller() -> None:
    """64 registers in blocks of 256 leave none; 145 leave room for half a block."""
    numbers = {**_STARVED, "occupancy_limiter": "registers", "block_thread_count": 256}
    full = {**numbers, "registers_per_thread_count": 64, _REGISTERS: 65_536}
    assert "smaller blocks" not in (_rule("registers", full) or "smaller blocks")
    rest = {**full, "registers_per_thread_count": 145}
    assert "leave 41 % of the registers unused: smaller blocks" in (_rule("registers", rest) or "")


@pytest.mark.parametrize(
    ("tensor_pct", "family", "is_said"),
    [(None, "gemm", False), (None, "attention", False), (None, "norm", True),
     (45.0, "gemm", False), (5.0, "gemm", True)],
)  # fmt: skip
def test_a_kernel_that_may_run_with_few_warps_on_purpose_is_not_told_of_registers(
    tensor_pct: float | None, family: str, is_said: bool
) -> None:
    """Those specialised by warp do, and where the activity is unknown it may be one."""
    numbers = {**_STARVED, "occupancy_limiter": "registers", "registers_per_thread_count": 168}
    numbers |= {"family": family, "tensor_pipe_active_pct": tensor_pct}
    assert (_rule("registers", numbers) is not None) == is_said


@pytest.mark.parametrize("rule", ["registers", "shared_memory", "dram_headroom", "code_size"])
def test_a_number_that_is_only_compared_with_is_needed_as_well(rule: str) -> None:
    """Waves and durations: what is not known is not taken for large."""
    numbers = next(n for name, n, _ in HOLDS if name == rule)
    for compared in ("waves_per_multiprocessor", "duration_ns"):
        if compared in numbers:
            rest = {name: value for name, value in numbers.items() if name != compared}
            assert _rule(rule, numbers) is not None
            assert _rule(rule, rest) is None
