"""Sizes of language models, and the work of their steps: no profile and no GPU is needed.

- `nsightlens.models.config`: `ModelConfig`, the sizes.
- `nsightlens.models.read`: `read_model`, by name or from a configuration of Hugging Face.
- `nsightlens.models.builtin`: the models that are known by name.
- `nsightlens.models.hugging_face`, `nsightlens.models.architectures`, `nsightlens.models.weights`:
  what a configuration means.
- `nsightlens.models.parameters`: parameters, counted from the matrices.
- `nsightlens.models.work`: `step_work`, operations and bytes of every operation of a step.
- `nsightlens.models.attention`, `nsightlens.models.mlp`, `nsightlens.models.operation`,
  `nsightlens.models.streaming`: the formulas of each.
- `nsightlens.models.bounds`: the KV cache, where it outweighs the weights, least time of a step.
- `nsightlens.models.parallel`: the part of a model that one GPU of several holds.
- `nsightlens.models.checks`: what no number that is given may be.
"""

from __future__ import annotations

from nsightlens.models.attention import attention_intensity_flop_per_byte
from nsightlens.models.bounds import (
    crossover_context_length,
    knee_batch_size,
    kv_block_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    largest_batch_size,
    step_time_bound_s,
    weights_bytes,
)
from nsightlens.models.builtin import builtin_models
from nsightlens.models.config import Experts, LatentAttention, ModelConfig, StoredWeights
from nsightlens.models.operation import OperationWork
from nsightlens.models.parallel import part_of_model
from nsightlens.models.parameters import (
    active_parameter_count,
    linear_parameter_count,
    parameter_count,
)
from nsightlens.models.read import read_model
from nsightlens.models.weights import WEIGHT_BYTES
from nsightlens.models.work import phase_of, step_work

__all__ = [
    "WEIGHT_BYTES",
    "Experts",
    "LatentAttention",
    "ModelConfig",
    "OperationWork",
    "StoredWeights",
    "active_parameter_count",
    "attention_intensity_flop_per_byte",
    "builtin_models",
    "crossover_context_length",
    "knee_batch_size",
    "kv_block_bytes",
    "kv_bytes_of_sequence",
    "kv_bytes_per_token",
    "largest_batch_size",
    "linear_parameter_count",
    "parameter_count",
    "part_of_model",
    "phase_of",
    "read_model",
    "step_time_bound_s",
    "step_work",
    "weights_bytes",
]
