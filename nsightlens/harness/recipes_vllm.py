"""Recipes for vLLM."""

from __future__ import annotations

from nsightlens.harness.recipe import Failure, Recipe

__all__ = ["RECIPES"]

_SPAWN = {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
_FORKS = {"traces_forks": True, "cuda_graph_trace": "node"}
_LABELS = (
    "Steps are named by NVTX ranges with --profiler-config.profiler cuda (from 0.13.0 on); without "
    "it they are record_function labels, which reach no profiler of NVIDIA's: use --step-labels."
)
_WORKERS = (
    "Kernels run in a child process: VLLM_ENABLE_V1_MULTIPROCESSING=0 keeps an offline LLM on one "
    "GPU in one process."
)
_BENCH = (
    "vllm", "bench", "latency", "--model", "MODEL", "--num-iters-warmup", "5", "--num-iters", "1",
    "--batch-size", "16", "--input-len", "512", "--output-len", "8",
)  # fmt: skip
_FAILURES = (
    Failure(
        "profiles are empty or partly so, or the engine crashes as it starts",
        "start workers by spawn: VLLM_WORKER_MULTIPROC_METHOD=spawn",
        "vllm PR 23802",
    ),
    Failure(
        "kernels of rank 0 only, with tensor parallelism",
        "spawn, and trace children between fork and exec (--trace-forks)",
        "vllm 5132, 10708",
    ),
    Failure(
        "a worker dies under nsys",
        "leave out --cudabacktrace and --python-backtrace, and use spawn; no single fix is known",
        "vllm 14372, 13482, 6823, 3247, 20178",
    ),
    Failure(
        "a hang as a graph with symmetric-memory all-reduce is replayed under nsys",
        "open; eager mode or another all-reduce may help",
        "vllm 48486",
    ),
    Failure(
        "ncu: 'Error in inspecting model architecture', for a process that vLLM starts fails",
        "open; filter processes with --ncu-option=--target-processes-filter=NAME",
        "vllm 25015",
    ),
    Failure(
        "the watchdog of NCCL ends a long profile",
        "raise the time-outs, and profile a window of one step",
        "Hyperloom 747",
    ),
)

RECIPES = (
    Recipe(
        name="vllm-decode",
        engine="vLLM",
        summary="decode steps of an offline script, in one process, between profiler start and "
        "stop",
        provenance={"ncu": "proposed", "nsys": "proposed"},
        versions="V1 engine; variables read in 0.11.0 to 0.33.0",
        template=("python", "SCRIPT.py"),
        environment={"VLLM_ENABLE_V1_MULTIPROCESSING": "0"},
        ncu={"waits_for_profiler_start": True},
        nsys={**_FORKS, "capture_range": "cudaProfilerApi"},
        window=(
            "llm.generate(prompts, SamplingParams(max_tokens=8))  # warm up",
            "torch.cuda.profiler.start()",
            "llm.generate(prompts, SamplingParams(max_tokens=4))",
            "torch.cuda.profiler.stop()",
        ),
        needs=(
            (
                "One GPU (tensor parallel size 1): ncu replays launches one by one, and "
                "collectives wait for each other."
            ),
            (
                "Decode runs in CUDA graphs; each kernel of a graph is a result. For eager mode "
                "give the script enforce_eager=True: the mix of kernels is another then."
            ),
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="vllm-bench",
        engine="vLLM",
        summary="one batch of `vllm bench latency`, prefill and decode",
        provenance={"nsys": "documented", "ncu": "proposed"},
        versions="documentation of 2026",
        template=_BENCH,
        programs=(("vllm", "bench"),),
        nsys=_FORKS,
        needs=(
            "Warm-up is profiled too: leave it out by the order of the steps, or use vllm-decode.",
            _WORKERS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="vllm-bench-eager",
        engine="vLLM",
        summary="one batch of `vllm bench latency` without CUDA graphs",
        provenance={"nsys": "read in the source", "ncu": "proposed"},
        versions="documentation of 2026",
        template=_BENCH,
        programs=(("vllm", "bench"),),
        target_options=(("--enforce-eager",),),
        nsys=_FORKS,
        needs=("The mix of kernels differs from that in graphs, which pad the batch.", _WORKERS),
        failures=_FAILURES,
    ),
    Recipe(
        name="vllm-server",
        engine="vLLM",
        summary="steps of `vllm serve` between two requests to it, with their labels",
        provenance={"nsys": "documented", "ncu": "proposed"},
        versions="from 0.13.0 on, where --profiler-config came",
        template=("vllm", "serve", "MODEL"),
        programs=(("vllm", "serve"),),
        environment=_SPAWN,
        target_options=(("--profiler-config.profiler", "cuda"),),
        ncu={"waits_for_profiler_start": True},
        nsys={**_FORKS, "capture_range": "cudaProfilerApi", "capture_range_end": "repeat"},
        window=(
            "curl -X POST http://localhost:8000/start_profile",
            "# requests, such as: vllm bench serve ...",
            "curl -X POST http://localhost:8000/stop_profile",
        ),
        needs=(
            "The report is written when the server ends: stop it with Ctrl-C or kill.",
            (
                "A window of some steps: --profiler-config.delay_iterations N "
                "--profiler-config.max_iterations M."
            ),
            (
                "ncu slows each kernel by orders of magnitude: raise the time-outs of client and "
                "engine, and keep the window at one step."
            ),
            _LABELS,
        ),
        failures=_FAILURES,
    ),
    Recipe(
        name="vllm-layers",
        engine="vLLM",
        summary="an eager `vllm serve` or `vllm bench` with a range for every module",
        provenance={"nsys": "read in the source"},
        versions="from 0.13.0 on (PR 29990)",
        template=("vllm", "bench", "latency", "--model", "MODEL", "--batch-size", "16"),
        programs=(("vllm", "bench"), ("vllm", "serve")),
        environment=_SPAWN,
        target_options=(("--enable-layerwise-nvtx-tracing",), ("--enforce-eager",)),
        nsys=_FORKS,
        needs=("Markers do not fire in CUDA graphs, so that this runs without them.",),
        failures=_FAILURES,
    ),
)
