"""A model is read by name or from its configuration; what is missing is said, never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.errors import ModelConfigError, UnknownModelError
from nsightlens.models import builtin_models, parameter_count, read_model, step_work
from nsightlens.models.architectures import ARCHITECTURES
from nsightlens.models.hugging_face import model_of
from nsightlens.models.read import namesake

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "vocab_size": 32000,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "tie_word_embeddings": False,
    "quantization_config": {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "weight_block_size": [128, 128],
    },
}
GEMMA3_27B = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "head_dim": 128,
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "model_type": "gemma3_text",
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}


def written(folder: Path, config: Any, name: str = "config.json") -> Path:
    """Write a configuration and return its path."""
    path = folder / name
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def without(config: dict[str, Any], key: str, **changed: Any) -> dict[str, Any]:
    """Return a configuration without a key, and with others changed."""
    return {name: value for name, value in {**config, **changed}.items() if name != key}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("opt-1.3b", "opt-1.3b"),
        ("facebook/opt-1.3b", "opt-1.3b"),
        ("OPT 1.3B", "opt-1.3b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("Llama-3.1-8B", "llama-3-8b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("mistralai/Mixtral-8x7B", "mixtral-8x7b"),
    ],
)
def test_a_name_is_understood_as_people_write_it(text: str, name: str) -> None:
    assert read_model(text).name == name


def test_no_name_stands_for_two_models() -> None:
    """An alias that is also another model's would hide it."""
    names = [name for one in builtin_models() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))


def test_every_built_in_model_has_a_source() -> None:
    assert all(one.source for one in builtin_models())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownModelError, match=r"^'lama-3-8b' is no built-in model.* llama-3-8b,"):
        read_model("lama-3-8b")


@pytest.mark.parametrize("text", ["", "no/such/config.json", "x" * 5000, "a\0b"])
def test_what_cannot_be_a_file_is_an_unknown_model(text: str) -> None:
    with pytest.raises(UnknownModelError):
        read_model(text)


def test_a_configuration_is_read_from_a_file_and_from_its_folder(tmp_path: Path) -> None:
    """A folder stands for the config.json in it, and gives the model its name."""
    folder = tmp_path / "my-llama"
    folder.mkdir()
    path = written(folder, LLAMA)
    for place in (path, folder, str(folder)):
        model = read_model(place)
        assert model.name == "my-llama"
        assert model.source == str(path)
        assert parameter_count(model) == 6_738_415_616


def test_a_model_is_returned_as_it_is() -> None:
    model = read_model("opt-125m")
    assert read_model(model) is model


@pytest.mark.parametrize("name", ["opt-125m", "models/opt-125m", "facebook/OPT-125M"])
def test_a_folder_that_exists_wins_over_a_built_in_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Who names what lies there means it; which model was hidden can be asked."""
    monkeypatch.chdir(tmp_path)
    assert (read_model(name).architecture, namesake(name)) == ("opt", None)
    Path(name).mkdir(parents=True)
    written(Path(name), LLAMA)
    for text in (name, Path(name)):
        assert (read_model(text).architecture, namesake(text)) == ("llama", "opt-125m")
    assert read_model(f"./{name}").architecture == "llama"
    assert namesake(f"./{name}") is None


def test_a_text_and_a_path_that_read_the_same_are_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("opt-125m", "facebook/opt-125m"):
        assert read_model(Path(name)) == read_model(name)


def test_a_folder_that_is_no_model_hides_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of reports may have the name of the model; one below another is meant as a model."""
    monkeypatch.chdir(tmp_path)
    Path("opt-125m").mkdir()
    Path("models/opt-125m").mkdir(parents=True)
    assert read_model("opt-125m").architecture == "opt"
    with pytest.raises(ModelConfigError, match=r"is a folder without config\.json"):
        read_model("models/opt-125m")


def test_without_key_value_heads_llama_has_as_many_as_query_heads(tmp_path: Path) -> None:
    assert read_model(written(tmp_path, LLAMA)).kv_head_count == 32
    grouped = {**LLAMA, "num_key_value_heads": 8}
    assert read_model(written(tmp_path, grouped)).kv_head_count == 8


@pytest.mark.parametrize("model_type", ["mistral", "qwen2", "gemma2"])
def test_where_the_code_has_a_number_of_its_own_the_key_is_needed(
    tmp_path: Path, model_type: str
) -> None:
    """Mistral without the key has 8 heads, not 32: nothing is guessed."""
    config = {**LLAMA, "model_type": model_type}
    with pytest.raises(ModelConfigError, match="has no num_key_value_heads"):
        read_model(written(tmp_path, config))


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
            "intermediate_size"],
)  # fmt: skip
def test_a_missing_key_is_named_with_the_file(tmp_path: Path, key: str) -> None:
    path = written(tmp_path, without(LLAMA, key))
    with pytest.raises(ModelConfigError) as raised:
        read_model(path)
    assert str(raised.value).startswith(f"{path}: has no {key}. ")
    assert raised.value.key == key
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", "4096"),
        ("hidden_size", 0),
        ("hidden_size", -1),
        ("num_hidden_layers", 1.5),
        ("num_hidden_layers", True),
        ("vocab_size", [1]),
        ("num_key_value_heads", 5),
        ("num_key_value_heads", 0),
        ("head_dim", "x"),
        ("num_attention_heads", 3),
        ("tie_word_embeddings", "yes"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(ModelConfigError) as raised:
        read_model(written(tmp_path, {**LLAMA, key: value}))
    assert raised.value.key in (key, "head_dim")


def test_an_unknown_architecture_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, "model_type": "qwen9"})
    with pytest.raises(ModelConfigError, match=r"'qwen9', which is not known\. Near it are qwen"):
        read_model(path)
    with pytest.raises(ModelConfigError, match="has no model_type"):
        read_model(written(tmp_path, without(LLAMA, "model_type")))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1]", "holds no JSON object"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_a_file_that_is_no_configuration_is_a_diagnosis(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ModelConfigError, match=problem):
        read_model(path)


def test_a_folder_without_a_configuration_is_a_diagnosis(tmp_path: Path) -> None:
    with pytest.raises(ModelConfigError, match=r"is a folder without config\.json"):
        read_model(tmp_path)


def test_a_given_head_size_wins_over_the_quotient(tmp_path: Path) -> None:
    """Qwen3 and Gemma have heads that do not add up to the hidden size."""
    config = {**LLAMA, "head_dim": 64}
    assert read_model(written(tmp_path, config)).head_dim == 64


def test_latent_attention_and_experts_are_read(tmp_path: Path) -> None:
    model = read_model(written(tmp_path, DEEPSEEK))
    assert model.latent == read_model("deepseek-v3").latent
    assert model.experts == read_model("deepseek-v3").experts
    assert model.dense_layer_count == 3
    assert parameter_count(model) == 671_026_419_200


@pytest.mark.parametrize(
    "key", ["kv_lora_rank", "q_lora_rank", "v_head_dim", "qk_rope_head_dim", "n_shared_experts",
            "first_k_dense_replace", "n_routed_experts"],
)  # fmt: skip
def test_what_makes_a_deepseek_is_never_guessed(tmp_path: Path, key: str) -> None:
    """Its class has numbers for these, but they are those of one model."""
    with pytest.raises(ModelConfigError, match=f"has no {key}"):
        read_model(written(tmp_path, without(DEEPSEEK, key)))


def test_null_means_none_where_a_deepseek_may_lack_something(tmp_path: Path) -> None:
    config = {**DEEPSEEK, "q_lora_rank": None, "n_shared_experts": None}
    model = read_model(written(tmp_path, config))
    assert model.latent is not None
    assert model.latent.query_rank is None
    assert model.experts is not None
    assert model.experts.shared_intermediate_size == 0


def test_there_are_no_more_dense_layers_than_layers(tmp_path: Path) -> None:
    config = {**DEEPSEEK, "first_k_dense_replace": 62}
    with pytest.raises(ModelConfigError, match=r"has 62 dense layers before .*, and 61 layers"):
        read_model(written(tmp_path, config))


@pytest.mark.parametrize(
    ("model_type", "head_dim", "window"),
    [
        ("llama", 128, None),
        ("mistral", 128, 4096),
        ("phi3", 128, None),
        ("qwen3", 128, None),
        ("gemma", 256, None),
        ("gemma2", 256, 4096),
    ],
)
def test_a_key_that_is_left_out_is_what_the_architecture_takes_for_it(
    tmp_path: Path, model_type: str, head_dim: int, window: int | None
) -> None:
    """The classes of transformers have these defaults, and docs/models.md lists them."""
    config = {**LLAMA, "model_type": model_type, "num_key_value_heads": 8}
    model = read_model(written(tmp_path, config))
    assert (model.head_dim, model.window_token_count) == (head_dim, window)


def test_a_qwen_with_experts_says_its_shared_one(tmp_path: Path) -> None:
    config = {
        **LLAMA,
        "model_type": "qwen2_moe",
        "num_key_value_heads": 8,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 768,
    }
    with pytest.raises(ModelConfigError, match="has no shared_expert_intermediate_size"):
        read_model(written(tmp_path, config))


@pytest.mark.parametrize(
    ("key", "value"), [("layer_types", "full_attention"), ("mlp_only_layers", 3)]
)
def test_what_must_be_a_list_is_not_passed_over(tmp_path: Path, key: str, value: Any) -> None:
    config = {
        **LLAMA,
        "model_type": "qwen3_moe",
        "num_key_value_heads": 8,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 768,
        key: value,
    }
    with pytest.raises(ModelConfigError, match=f"{key} is '{value}'"):
        read_model(written(tmp_path, config))


def test_a_model_that_takes_images_is_read_by_its_text_part(tmp_path: Path) -> None:
    """What the publisher leaves out there is as in the 4B model; the rest is inherited."""
    model = read_model(written(tmp_path, GEMMA3_27B))
    built_in = read_model("gemma-3-27b")
    assert parameter_count(model) == parameter_count(built_in)
    assert (model.window_token_count, model.windowed_layer_count) == (1024, 52)
    assert model.stored_weights is not None
    assert model.stored_weights.dtype == "bf16"


@pytest.mark.parametrize(
    ("changed", "windowed"),
    [
        ({"sliding_window": 4096}, 32),
        ({"sliding_window": None}, 0),
        ({}, 32),
        ({"sliding_window": 4096, "layer_types": ["full_attention", "sliding_attention"] * 16}, 16),
    ],
)
def test_layers_with_a_window_are_counted(
    tmp_path: Path, changed: dict[str, Any], windowed: int
) -> None:
    config = {**LLAMA, "model_type": "mistral", "num_key_value_heads": 8, **changed}
    model = read_model(written(tmp_path, config))
    assert model.windowed_layer_count == windowed
    assert (model.window_token_count is None) == (windowed == 0)


def test_a_window_that_is_not_used_is_none(tmp_path: Path) -> None:
    """Qwen2 writes a window and says beside it that it is not used."""
    config = {
        **LLAMA,
        "model_type": "qwen2",
        "num_key_value_heads": 8,
        "sliding_window": 131072,
        "use_sliding_window": False,
        "max_window_layers": 28,
    }
    assert read_model(written(tmp_path, config)).windowed_layer_count == 0
    used = {**config, "use_sliding_window": True}
    assert read_model(written(tmp_path, used)).windowed_layer_count == 4


def test_a_kind_of_layer_that_is_not_known_is_a_diagnosis(tmp_path: Path) -> None:
    """Linear attention needs other formulas."""
    config = {
        **LLAMA,
        "model_type": "qwen3",
        "num_key_value_heads": 8,
        "sliding_window": 4096,
        "layer_types": ["linear_attention"] * 32,
    }
    with pytest.raises(ModelConfigError, match="layer_types has 'linear_attention'"):
        read_model(written(tmp_path, config))


def test_experts_can_be_in_some_layers_only(tmp_path: Path) -> None:
    config = {
        **LLAMA,
        "model_type": "qwen3_moe",
        "num_key_value_heads": 8,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 768,
        "decoder_sparse_step": 2,
        "mlp_only_layers": [1],
    }
    model = read_model(written(tmp_path, config))
    assert model.experts is not None
    assert (model.experts.layer_count, model.dense_layer_count) == (15, 17)
    with pytest.raises(ModelConfigError, match="sends a token to 32 of 16 experts"):
        read_model(written(tmp_path, {**config, "num_experts_per_tok": 32}))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
KEYS = sorted({*LLAMA, *DEEPSEEK, "head_dim", "sliding_window", "layer_types", "text_config",
               "mlp_only_layers", "decoder_sparse_step", "use_sliding_window", "enable_bias",
               "max_position_embeddings", "attention_bias", "num_experts"})  # fmt: skip


@given(
    st.sampled_from([LLAMA, DEEPSEEK, GEMMA3_27B]),
    st.sampled_from(["", *ARCHITECTURES]),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
)
def test_any_configuration_is_a_model_or_a_diagnosis(
    base: dict[str, Any], model_type: str, changed: dict[str, Any]
) -> None:
    """Whatever stands in a key, nobody sees a traceback; what is a model can be computed with."""
    config = {**base, **({"model_type": model_type} if model_type else {}), **changed}
    said = ""
    try:
        model = model_of(config, name="any", place="config.json", source="")
    except ModelConfigError as error:
        said = str(error)
    if said:
        assert "\n" not in said
        assert said.startswith("config.json: ")
        return
    assert parameter_count(model) > 0
    assert all(work.bytes > 0 for work in step_work(model, batch_size=1, context_length=9))
