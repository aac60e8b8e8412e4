"""Recipes for SGLang."""

from __future__ import annotations

from nsightlens.harness.recipe import Failure, Recipe

__all__ = ["RECIPES"]

_FORKS = {"traces_forks": True, "cuda_graph_trace": "node"}
_LABELS = (
    "Steps are record_function labels, which reach no profiler of NVIDIA's: use --step-labels."
)
_EAGER = (
    "--disable-overlap-schedule as well makes the ranges of the host cover the work of the GPU."
)
_SERVER = ("python", "-m", "sglang.launch_server", "--model-path", "MODEL")
_BENCH = (
    "python", "-m", "sglang.bench_one_batch", "--model", "MODEL", "--batch-size", "64",
    "--input-len", "512",
)  # fmt: skip
_WINDOW = (
    "curl -X POST localhost:30000/start_profile -H 'Content-Type: application/json' \\",
    """  -d '{"start_step":3,"num_steps":10,"activities":["CUDA_PROFILER"]}'""",
)
_FAILURES = (
    Failure(
        "no kernels under nsys",
        "--trace-forks, --graph-profiling node and --wait primary, with --trace cuda,nvtx,osrt, "
        "helped one user",
        "sglang 827, 845, 2776, 3049",
    ),
    Failure(
        "a server under nsys never writes its report",
        "give the trace an end: --duration S, or nsys stop",
        "sglang PR 957",
    ),
    Failure("a hang under nsys before the server is ready", "open", "sglang 33283"),
    Failure(
        "there are no NVTX ranges",
        "SGLANG_ENABLE_NVTX_SCHEDULER=1 (0.5.23), or --step-labels; ranges do not fire in a graph "
        "that is replayed",
        "sglang 7777",
    ),
    Failure(
        "torch: 'Python replay stack is empty'",
        "SGLANG_PROFILE_WITH_STACK=False",
        "vllm 18240, pytorch 101632",
    ),
)

RECIPES = (
    Recipe(
        name="sglang-decode",
        engine="SGLang",
        summary="the decode step that `bench_one_batch` brackets for a profiler",
        provenance={"ncu": "proposed", "nsys": "read in the source"},
        versions="from 0.5.9 on",
        template=_BENCH,
        programs=(("sglang.bench_one_batch",),),
        target_options=(("--profile",), ("--profile-activities", "CUDA_PROFILER")),
        ncu={"waits_for_profiler_start": True},
        nsys={**_FORKS, "capture_range": "cudaProfilerApi"},
        needs=(
            "One GPU: the model then runs in this process, without a scheduler's.",
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="sglang-bench",
        engine="SGLang",
        summary="all of `bench_one_batch`: prefill and decode of one batch",
        provenance={"nsys": "documented"},
        versions="documentation of 2026",
        template=_BENCH,
        programs=(("sglang.bench_one_batch",),),
        nsys=_FORKS,
        needs=(_LABELS,),
        failures=_FAILURES,
    ),
    Recipe(
        name="sglang-bench-eager",
        engine="SGLang",
        summary="prefill and decode of `bench_one_batch` without CUDA graphs",
        provenance={"nsys": "read in the source", "ncu": "proposed"},
        versions="documentation of 2026",
        template=_BENCH,
        programs=(("sglang.bench_one_batch",),),
        target_options=(("--disable-cuda-graph",),),
        nsys=_FORKS,
        needs=(_EAGER, _LABELS),
        failures=_FAILURES,
    ),
    Recipe(
        name="sglang-server",
        engine="SGLang",
        summary="some steps of a server, from one request to it on",
        provenance={"nsys": "documented", "ncu": "proposed"},
        versions="CUDA_PROFILER from 0.4.6.post5 on; the variable in 0.5.23",
        template=_SERVER,
        programs=(("sglang.launch_server",),),
        environment={"SGLANG_ENABLE_NVTX_SCHEDULER": "1"},
        ncu={"waits_for_profiler_start": True},
        nsys={**_FORKS, "capture_range": "cudaProfilerApi"},
        window=_WINDOW,
        needs=(
            "Only the worker of the first GPU opens the window.",
            "/stop_profile is for a request without num_steps.",
            (
                "Prefill and decode workers that are apart are profiled one after the other "
                "(bench_serving: --pd-separated --profile-decode-url)."
            ),
            (
                "ncu slows each kernel by orders of magnitude: raise the time-outs of client and "
                "engine, and profile one step."
            ),
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="sglang-layers",
        engine="SGLang",
        summary="an eager server with a range for every module",
        provenance={"nsys": "documented"},
        versions="from 0.5.9 on",
        template=_SERVER,
        programs=(("sglang.launch_server",), ("sglang.bench_one_batch",)),
        target_options=(("--enable-layerwise-nvtx-marker",), ("--disable-cuda-graph",)),
        nsys={**_FORKS, "capture_range": "cudaProfilerApi"},
        window=_WINDOW,
        needs=(_EAGER,),
        failures=_FAILURES,
    ),
)
