"""Recipes for llama.cpp and for scripts in plain PyTorch."""

from __future__ import annotations

from nsightlens.harness.recipe import Failure, Recipe

__all__ = ["RECIPES"]

_NO_GRAPHS = {"GGML_CUDA_DISABLE_GRAPHS": "1"}
_NO_STEPS = (
    "llama.cpp names no steps: the phase follows from the command, which runs one phase only."
)
_WITH_GRAPHS = (
    "To keep CUDA graphs, set GGML_CUDA_DISABLE_GRAPHS in your own environment as you want it, "
    "and skip the first tokens, which run without a graph."
)
_BATCHED = (
    "llama-batched-bench", "-m", "MODEL.gguf", "-npp", "8", "-ntg", "12", "-npl", "128", "-ub",
    "2048",
)  # fmt: skip
_SCRIPT = ("python", "SCRIPT.py")
_PYTORCH_WINDOW = (
    "torch.cuda.synchronize(); torch.cuda.profiler.start()",
    "for i in range(n):",
    '    torch.cuda.nvtx.range_push(f"decode_step_{i}"); step(); torch.cuda.nvtx.range_pop()',
    "torch.cuda.synchronize(); torch.cuda.profiler.stop()",
)
_PYTORCH_NEEDS = (
    "Put ranges around graph.replay(), not into the captured code: they do not fire on replay.",
    "torch.cuda.nvtx.range formats its text, so that braces in it fail: use range_push.",
    "torch.profiler cannot run at the same time: it uses the same CUPTI.",
    'Guard the entry of a script that spawns workers with if __name__ == "__main__".',
)
_LLAMA_FAILURES = (
    Failure(
        "ncu cannot replay kernels of a graph",
        "GGML_CUDA_DISABLE_GRAPHS=1, as the recipe sets",
        "a public script",
    ),
)

RECIPES = (
    Recipe(
        name="llamacpp-decode",
        engine="llama.cpp",
        summary="generation only, at batch size 1, by `llama-bench`",
        provenance={"ncu": "seen in use", "nsys": "seen in use"},
        versions="builds with CUDA graphs (from 2024-05 on, PR 6766)",
        template=("llama-bench", "-m", "MODEL.gguf", "-ngl", "99", "-fa", "1"),
        programs=(("llama-bench",),),
        environment=_NO_GRAPHS,
        target_options=(("-p", "0"), ("-n", "32"), ("-r", "1"), ("--no-warmup",)),
        ncu={"launch_count": 3000, "ends_target": True},
        needs=(_NO_STEPS, _WITH_GRAPHS),
        failures=_LLAMA_FAILURES,
    ),
    Recipe(
        name="llamacpp-prefill",
        engine="llama.cpp",
        summary="a prompt of 512 tokens only, by `llama-bench`",
        provenance={"ncu": "seen in use", "nsys": "seen in use"},
        versions="builds with CUDA graphs (from 2024-05 on, PR 6766)",
        template=("llama-bench", "-m", "MODEL.gguf", "-ngl", "99", "-fa", "1"),
        programs=(("llama-bench",),),
        environment=_NO_GRAPHS,
        target_options=(("-p", "512"), ("-n", "0"), ("-r", "1"), ("--no-warmup",)),
        ncu={"launch_count": 3000, "ends_target": True},
        needs=(_NO_STEPS,),
        failures=_LLAMA_FAILURES,
    ),
    Recipe(
        name="llamacpp-batched",
        engine="llama.cpp",
        summary="generation for many sequences at once, by `llama-batched-bench`",
        provenance={"nsys": "seen in use"},
        versions="builds with CUDA graphs (from 2024-05 on, PR 6766)",
        template=_BATCHED,
        programs=(("llama-batched-bench",),),
        environment=_NO_GRAPHS,
        needs=(
            "The batch size of a decode step is -npl, its context -npp and what was generated.",
            _NO_STEPS,
        ),
        failures=_LLAMA_FAILURES,
    ),
    Recipe(
        name="pytorch-decode",
        engine="PyTorch",
        summary="steps that a script marks with decode_step_N, between profiler start and stop",
        provenance={"ncu": "proposed", "nsys": "proposed"},
        versions="any",
        template=_SCRIPT,
        ncu={"waits_for_profiler_start": True, "nvtx_include": (r"regex:^decode_step_\d+$/",)},
        nsys={"capture_range": "cudaProfilerApi", "cuda_graph_trace": "node"},
        window=_PYTORCH_WINDOW,
        needs=_PYTORCH_NEEDS,
    ),
    Recipe(
        name="pytorch-annotated",
        engine="PyTorch",
        summary="decode steps that a script marks with nsightlens.annotate, at any batch size",
        provenance={"ncu": "proposed", "nsys": "proposed"},
        versions="any",
        template=_SCRIPT,
        ncu={"nvtx_include": ("regex:^nsightlens$@^step v1 phase=decode( .*)?$/",)},
        window=(
            'with nsightlens.annotate.step("decode", batch_size=8, context=500, query=1):',
            "    step()",
        ),
        needs=_PYTORCH_NEEDS,
    ),
)
