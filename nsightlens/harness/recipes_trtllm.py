"""Recipes for TensorRT-LLM with its PyTorch backend."""

from __future__ import annotations

from nsightlens.harness.recipe import Failure, Recipe

__all__ = ["DECODE", "RECIPES"]

DECODE = r"regex:^TensorRT-LLM$@_forward_step( \d+)?: 0 ctx reqs, (0 ctx tokens, )?[1-9]\d* gen/"
"""NVTX filter for steps that only generate; a search for '0 ctx reqs' would find 10 too."""

_NSYS = {
    "trace": ("cuda", "nvtx", "python-gil"),
    "capture_range": "cudaProfilerApi",
    "cuda_graph_trace": "node",
    "traces_forks": True,
}
_ENVIRONMENT = {
    "TLLM_PROFILE_START_STOP": "100-150",
    "TLLM_PROFILE_RECORD_GC": "1",
    "TLLM_LLMAPI_ENABLE_NVTX": "1",
}
_WINDOW = "The window is iterations 100 to 150; set TLLM_PROFILE_START_STOP for others."
_EAGER = (
    "Without CUDA graphs: set cuda_graph_config: null in the file of options (not checked for "
    "every version)."
)
_LABELS = "Steps are always named, in the domain TensorRT-LLM."
_FAILURES = (
    Failure(
        "the window opens before any real iteration, and the trace is empty (disaggregated "
        "generation workers)",
        "use a version with the fix of 2026-05",
        "TensorRT-LLM PR 13744, 13958",
    ),
    Failure(
        "nsys 2026.3: the target crashes with hardware tracing, or graph nodes hide decode",
        "--trace cuda-sw,nvtx,python-gil --graph-profiling graph "
        "--nsys-option=--flush-on-cudaprofilerstop=false --nsys-option=--cuda-flush-interval=0 "
        "--nsys-option=--kill=none --wait all; kernels within graphs are not seen then",
        "srt-slurm PR 418",
    ),
    Failure(
        "nsys with mpirun fails in the C++ benchmark",
        "open; one nsys per rank, under mpirun, may help",
        "TensorRT-LLM 1560",
    ),
)
_BENCH = (
    "trtllm-bench", "--model", "MODEL", "--model_path", "PATH", "throughput", "--dataset",
    "DATASET", "--warmup", "0", "--backend", "pytorch", "--streaming",
)  # fmt: skip

RECIPES = (
    Recipe(
        name="trtllm-decode",
        engine="TensorRT-LLM",
        summary="launches of one iteration that only generates",
        provenance={"ncu": "seen in use"},
        versions="PyTorch backend; NVTX filter proposed, by the labels of 2025 and 2026",
        template=("python", "run.py"),
        environment={"TLLM_PROFILE_START_STOP": "100-100"},
        ncu={"waits_for_profiler_start": True, "nvtx_include": (DECODE,)},
        needs=(
            (
                "Iteration 100 is profiled; set TLLM_PROFILE_START_STOP=S-S for another. It must "
                "be one without context requests."
            ),
            _EAGER,
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="trtllm-bench",
        engine="TensorRT-LLM",
        summary="iterations of `trtllm-bench`, offline",
        provenance={"nsys": "documented"},
        versions="documentation of 2026",
        template=_BENCH,
        programs=(("trtllm-bench",),),
        environment=_ENVIRONMENT,
        nsys=_NSYS,
        needs=(
            _WINDOW,
            "TLLM_TORCH_PROFILE_TRACE is left out: torch's profiler and nsys use the same CUPTI.",
            _EAGER,
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="trtllm-server",
        engine="TensorRT-LLM",
        summary="iterations of `trtllm-serve`",
        provenance={"nsys": "documented"},
        versions="documentation of 2026",
        template=("trtllm-serve", "MODEL", "--backend", "pytorch"),
        programs=(("trtllm-serve",),),
        environment=_ENVIRONMENT,
        nsys=_NSYS,
        needs=(
            _WINDOW,
            (
                "Versions with PR 13872 also take POST /start_profile with start_step, num_steps "
                'and activities ["CUDA_PROFILER"], and /stop_profile.'
            ),
            (
                "On several nodes: trtllm-llmapi-launch trtllm-serve ..., a run folder per "
                "SLURM_PROCID, NSYS_MPI_STORE_TEAMS_PER_RANK=1 in the environment."
            ),
            _EAGER,
            _LABELS,
        ),
        failures=_FAILURES,
    ),
)
