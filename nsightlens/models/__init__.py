"""Sizes of language models, and the work of their steps: no profile and no GPU is needed.

- `nsightlens.models.config`: `ModelConfig`, the sizes.
- `nsightlens.models.read`: `read_model`, by name or from a configuration of Hugging Face.
- `nsightlens.models.builtin`: the models that are known by name.
- `nsightlens.models.hugging_face`, `nsightlens.models.architectures`, `nsightlens.models.weights`:
  what a configuration means.
- `nsightlens.models.parameters`: parameters, counted from the matrices.
"""

from __future__ import annotations

from nsightlens.models.builtin import builtin_models
from nsightlens.models.config import Experts, LatentAttention, ModelConfig, StoredWeights
from nsightlens.models.parameters import active_parameter_count, parameter_count
from nsightlens.models.read import read_model

__all__ = [
    "Experts",
    "LatentAttention",
    "ModelConfig",
    "StoredWeights",
    "active_parameter_count",
    "builtin_models",
    "parameter_count",
    "read_model",
]
