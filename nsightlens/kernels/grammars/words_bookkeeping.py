"""Ordinary words: kernels that prepare work, and those that train.

They name what they serve (``mla metadata``, ``group gemm args``), so they come before it.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.grammars.vocabulary import (
    ATTENTION,
    GEMM,
    NORM,
    ROUTED,
)
from nsightlens.kernels.rule import Rule

BOOKKEEPING: tuple[Rule, ...] = (
    Rule("words.attention_metadata", "metadata -moe|expert|dispatch|tensor", "other", "attention_metadata"),
    Rule("words.block_table", "table|tables block|page|slot|req -embedding|rope", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.draft_tree", "tree mask|indices|build|draft -attention|attn|reduce", "other", "attention_metadata"),
    Rule("words.draft_inputs", "eagle|draft|mtp|medusa|speculative inputs|input|step|metadata|tree -attention|attn|sampling|sample|logits|gemm|state", "other", "attention_metadata"),
    Rule("words.index_mapping", "mapping|mappings idx|index|slot|slots|req|token|block -expert|append|write|quantize|reshape", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.vertical_slash", "slash vertical indexes|indices|convert|index", "other", "attention_metadata", also=("attention",)),
    Rule("words.attention_schedule", "prepare|preprocess|compute|get|plan|generate varlen|blocks|seqlens|scheduler|splits|schedule -moe|expert|softmax", "other", "attention_metadata", also=("attention",)),
    Rule("words.kv_indices", "indices|index|slot|slots|pool|table|loc|locs|lens|indptr|position|positions kv|page|paged|req|draft|flashinfer|block|slot|prefix|compute"
         f" -{ROUTED}|gather|topk|embedding|select|rope|write|append|quantize|reshape|cache|copy|attention|attn|seg", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.kv_indices_of", "indices|index kv cache|kvcache create|chunked|generate|convert|compute", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.request_pool", "req|request pool|token|index|indices", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.page_allocation", "alloc extend|decode|page|pages", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.advance_step", "advance|prepare step|eagle|inputs -gemm", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.expert_product_data", f"data {ROUTED}|pplx|grouped|group get|mm|prepare|{GEMM}", "moe_routing", "metadata"),
    Rule("words.expert_ids", f"ids helper|compact|map {GEMM}|{ROUTED}", "moe_routing", "metadata"),
    Rule("words.row_indices", "indices m -kv|page|attention|attn|mla", "moe_routing", "metadata"),
    Rule("words.grouped_gemm_setup", f"args|arguments|strides|offsets|sizes|ptrs|pointers|starts|problem group|grouped|problem|expert|experts|blockscale|sizes|tma {GEMM}|problem|expert|experts|cutlass|compute -fprop|dgrad|wgrad",
         "moe_routing", "metadata"),
    Rule("words.gemm_pointers", f"pointers|ptrs|args|arrays {GEMM}", "other", "gemm_pointer_setup"),
    Rule("words.embedding_training", "embedding backward|codegen|bag|nobag|grad|dense", "embedding", "generic"),
    Rule("words.optimizer", "adam|adamw|lamb|sgd|lion|optimizer|adagrad|muon|rmsprop", "other", "optimizer"),
    Rule("words.loss", "loss|crossentropy|nll|entropy|classifier|kldiv|jsd -sampling|spec", "other", "loss"),
    Rule("words.loss_cut", "ce|kl fwd|bwd|forward|backward|loss|div|divergence", "other", "loss"),
    Rule("words.fourier", "fft|ifft|rfft|irfft|dft -conv|convolution|c2|r2", "other", "generic"),
    Rule("words.random_state", "rng|curand|seed|philox init|initialize|setup|states", "other", "generic"),
    Rule("words.bias_gradient", f"bias backward|bwd|grad|dbias -{ATTENTION}|{NORM}|softmax|gelu", "reduction", "bias_grad"),
    Rule("words.hyper_connection", "mhc|hyperconnection|hc -gemm|prenorm", "other", "hyper_connection"),
)

RULES: tuple[Rule, ...] = BOOKKEEPING
