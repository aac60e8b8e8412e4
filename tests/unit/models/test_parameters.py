"""Parameter counts, computed from the sizes, are those that are published."""

from __future__ import annotations

import pytest

from nsightlens.models import (
    active_parameter_count,
    builtin_models,
    parameter_count,
    read_model,
)

# As the checkpoints on Hugging Face have them, or as the papers round them.
PUBLISHED = {
    "opt-125m": 125_239_296,
    "opt-350m": 331_196_416,
    "opt-1.3b": 1_315_758_080,
    "opt-2.7b": 2_651_596_800,
    "opt-6.7b": 6_658_473_984,
    "opt-13b": 12_853_473_280,
    "opt-30b": 29_974_540_288,
    "opt-66b": 65.7e9,
    "llama-30b": 32.5e9,
    "llama-65b": 65.2e9,
    "codellama-34b": 33.7e9,
    "yi-34b": 34_388_917_248,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b": 7_241_732_096,
    "mistral-7b-v0.3": 7_248_023_552,
    "mistral-nemo-12b": 12_247_782_400,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen1.5-moe-a2.7b": 14_315_784_192,
    "qwen2-57b-a14b": 57.4e9,
    "qwen3-0.6b": 0.596e9,
    "qwen3-1.7b": 1.72e9,
    "qwen3-4b": 4.02e9,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 3.88e9,
    "gemma-3-12b": 11.77e9,
    "gemma-3-27b": 27.0e9,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v3": 671_026_419_200,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "phi-3-mini": 3_821_079_552,
    "phi-4": 14_659_507_200,
}
# As the publishers say it of one token.
ACTIVE = {
    "mixtral-8x7b": 12.9e9,
    "mixtral-8x22b": 39e9,
    "qwen1.5-moe-a2.7b": 2.7e9,
    "qwen2-57b-a14b": 14e9,
    "qwen3-30b-a3b": 3.3e9,
    "qwen3-235b-a22b": 22e9,
    "deepseek-v2": 21e9,
    "deepseek-v3": 37e9,
}


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_the_matrices_of_a_model_add_up_to_the_published_count(name: str, published: float) -> None:
    """A wrong size, bias or norm of the table would show here."""
    exact = isinstance(published, int)
    assert parameter_count(read_model(name)) == pytest.approx(
        published, rel=0 if exact else 0.003, abs=0
    )


def test_no_model_of_the_table_is_left_untested() -> None:
    """A new row comes with its published count."""
    assert {one.name for one in builtin_models()} == set(PUBLISHED)


@pytest.mark.parametrize(("name", "published"), ACTIVE.items())
def test_a_token_passes_as_many_parameters_as_is_published(name: str, published: float) -> None:
    """Of the routed experts only the chosen ones count."""
    assert active_parameter_count(read_model(name)) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("name", ["opt-1.3b", "llama-3-8b", "gemma-2-9b"])
def test_every_parameter_of_a_dense_model_is_active(name: str) -> None:
    assert active_parameter_count(read_model(name)) == parameter_count(read_model(name))
