"""What the keys of advice as JSON mean, with their units: the words of its JSON Schema."""

from __future__ import annotations

from typing import Any

__all__ = ["ANSWERS", "MEANINGS"]

_NUMBER: Any = float | None

ANSWERS: dict[str, tuple[Any, str]] = {
    "b_opt": (_NUMBER, "batch size to serve with; null where nothing is feasible"),
    "binding_constraint": (
        str,
        (
            "what keeps from a larger choice: slo, efficiency, preemption, thrash, throughput (the "
            "next larger is slower) or measured_range; where nothing is feasible, what to relax"
        ),
    ),
    "rule": (str, "throughput: the most within all limits; largest: the largest within latency"),
    "epsilon": (_NUMBER, "least efficiency T(B) / (B T(1)) [1]; null where none applies"),
    "slo_ms": (_NUMBER, "the limit of latency, where there is just one [ms]"),
    "slos_ms": (tuple[float, ...], "all limits of latency [ms]"),
    "nearest_feasible_slo_ms": (
        _NUMBER, "where latency makes all infeasible: the least limit that is met [ms]",
    ),
    "itl_ms": (_NUMBER, "time between tokens at the choice [ms]"),
    "throughput_tok_s": (_NUMBER, "throughput at the choice [token/s]"),
    "efficiency": (_NUMBER, "T(B) / (B T(1)) at the choice: 1 is linear scaling [1]"),
    "knee": (_NUMBER, "t0 / a of the fitted law [sequences]; null where it does not hold"),
    "kv_peak_pct": (_NUMBER, "largest use of the KV pool at the choice [%]"),
    "kv_freed_gib": (_NUMBER, "KV pool less its largest use, without a margin [GiB]"),
    "gpu_memory_utilization": (_NUMBER, "setting that leaves the use with its margin [1]"),
    "replicas_max": (int | None, "most servers of the choice that fit on the GPU"),
    "gain_bound": (_NUMBER, "most that so many servers gain over one: min(R, 1 / busy) [1]"),
}  # fmt: skip
"""Type and meaning of the numbers that stand first."""

MEANINGS: dict[str, str] = {
    # Warned, Lacking
    "key": "names it for programs",
    "text": "the same as a sentence with numbers",
    "what": "what is not there",
    "enables": "what it would enable",
    # Slo
    "metric": "itl: time between tokens; tpot: time per output token; ttft: time to the first",
    "statistic": "which value of it is limited",
    "limit_ms": "the limit [ms]; null where a factor gives it",
    "factor": "the limit is this times the latency at the reference batch size [1]",
    "reference_batch": "measured batch sizes nearest to this are the reference",
    # BatchChoice, Neighbour
    "rule": ANSWERS["rule"][1],
    "epsilon": ANSWERS["epsilon"][1],
    "limits_ms": "the limits of latency [ms]",
    "batch_size": "batch size [sequences]",
    "row": "row of the curve at the choice; null where nothing is feasible",
    "is_interpolated": "whether it lies between measured batch sizes",
    "binding_constraint": ANSWERS["binding_constraint"][1],
    "binding_text": "the same as a sentence with numbers",
    "largest_feasible": "largest batch size within all limits",
    "smaller": "the next smaller batch size that was measured",
    "larger": "the next larger batch size that was measured",
    "nearest_feasible_slo_ms": ANSWERS["nearest_feasible_slo_ms"][1],
    "warnings": "what makes this part weaker",
    "throughput_tok_s": "throughput [token/s]",
    "throughput_change_pct": "of that against the choice [%]",
    "latency_ms": "the latency that is limited, or the time between tokens [ms]",
    "latency_change_pct": "of that against the choice [%]",
    "excluded_by": "constraint that forbids it; null where it is allowed",
    # Plateau, Fit
    "fit": "the law ITL = t0 + a B by the method that was asked for; null where it does not hold",
    "other_fit": "the same by the other method",
    "refused": "why there is no knee; null where the law holds",
    "batch_at_90": "first measured batch size with 90 % of the best throughput",
    "batch_at_95": "first measured batch size with 95 % of the best throughput",
    "best_batch": "batch size with the best throughput without preemption",
    "best_throughput_tok_s": "its throughput [token/s]",
    "is_plateau_reached": "whether the last rows gain less than a tenth of what the first gain",
    "method": "fit: least squares of the relative error or of milliseconds; else how it was found",
    "over": "which batch the law is over: what ran, or what was set",
    "t0_ms": "time of a step without sequences [ms]",
    "a_ms": "time that each sequence adds [ms]",
    "knee": "t0 / a: half of the asymptotic throughput is reached there [sequences]",
    "knee_low": "lower end of its interval of 95 % [sequences]",
    "knee_high": "upper end of its interval of 95 % [sequences]",
    "r2": "coefficient of determination of the time [1]",
    "mean_error_pct": "mean of the error of the fitted time [%]",
    "max_error_pct": "largest error of the fitted time [%]",
    "row_count": "rows with weight",
    "asymptote_tok_s": "generated tokens per second that the law tends to [token/s]",
    # MemoryAdvice
    "kv_pool_gib": "KV pool at the choice [GiB]",
    "kv_peak_pct": "largest use of the KV pool [%]",
    "kv_used_gib": "the same [GiB]",
    "kv_freed_gib": ANSWERS["kv_freed_gib"][1],
    "freed_pct": "its share of the memory of the GPU [%]",
    "margin": "part of the use that is kept beside it [1]",
    "kv_needed_gib": "use with the margin [GiB]",
    "kv_blocks_needed": "the same in KV blocks",
    "kv_given_back_gib": "pool less what is needed; 0 where nothing is left [GiB]",
    "gpu_memory_utilization": ANSWERS["gpu_memory_utilization"][1],
    "gpu_memory_utilization_was": "setting that was measured with [1]",
    "missing": "what is needed and not known; empty where the answer is whole",
    # ReplicaAdvice
    "replicas_max": ANSWERS["replicas_max"][1],
    "recommended": "servers to run; 1 where several gain nothing within the limits",
    "gpu_busy_share": "share of a step in which the GPU works [1]",
    "busy_source": "where that came from",
    "gain_bound": ANSWERS["gain_bound"][1],
    "comparisons": "against the best single server, and against simply a larger batch",
    "commands": "lines to start MPS and the servers",
    # Why
    "verdict": "why throughput stops to grow",
    "sources": "files that say it",
    # StepCosts, Cost
    "step_us": "wall time of a step [us]",
    "costs": "what of it could be saved",
    "source": "file that says it",
    "per_step_us": "what a step spends on it [us]",
    "share_of_step_pct": "the same as a share of the step [%]",
    "saving_us": "what could be saved of it [us]",
    "is_worth_acting": "whether that is worth the work",
    # Prediction
    "question": "what was asked",
    "context_length": "tokens of context; null: as measured [token]",
    "device": "name of the GPU; null: as measured",
    "itl_ms": "time between tokens [ms]",
    "itl_low_ms": "lower end of its interval, from the back-test [ms]",
    "itl_high_ms": "upper end of its interval, from the back-test [ms]",
    "backtest_mean_error_pct": "mean error of the law on measured rows that were left out [%]",
    "backtest_max_error_pct": "largest such error [%]",
}
"""Meaning of a field of `nsightlens.advisor.answers`, by its name: one name, one meaning."""
