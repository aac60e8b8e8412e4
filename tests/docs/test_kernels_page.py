"""The page about kernels under test: its formulas are those of the code, and none is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernels_under_test import work
from kernels_under_test.backends import ATTENTION
from kernels_under_test.decode import ExitCode, parser
from kernels_under_test.models import OWN_MODELS
from kernels_under_test.operations import StepShape, Variant, step_operations
from kernels_under_test.work import AttentionShape, Sizes, Work

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "kernels-under-test.md").read_text("utf-8")
_ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
ROWS = {name: (names, formulas) for name, names, *formulas in _ROW.findall(PAGE)}

# A prime for each letter, so that no two formulas agree by chance.
LETTERS = dict(zip("MKNnTHVABqSPhgkvEuU", (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47,
                                           53, 59, 61, 67), strict=True))  # fmt: skip
M, K, N, n, T, H, V, A, B, q, S, P, h, g, k, v, E, u, U = LETTERS.values()
SIZES = Sizes(weight=71, activation=73, cache=79)
BYTES = {"w": SIZES.weight, "a": SIZES.activation, "c": SIZES.cache, "i": work.INDEX_BYTES}
# One query has no mask, which the text speaks of and the table does not.
SHAPE = AttentionShape(B, q, S, P, h, g, k, v)

CODE: dict[str, Callable[[], Work]] = {
    "lookup": lambda: work.lookup("", M, N, SIZES),
    "add": lambda: work.add("", n, SIZES),
    "rms_norm": lambda: work.rms_norm("", M, N, SIZES),
    "layer_norm": lambda: work.layer_norm("", M, N, SIZES),
    "linear": lambda: work.linear("", M, (K, N), SIZES),
    "quantise": lambda: work.quantise("", n, SIZES),
    "rope": lambda: work.rope("", M, N, A, SIZES),
    "cache_write": lambda: work.cache_write("", M, N, SIZES, is_paged=False),
    "gather": lambda: work.gather("", M, h, N, SIZES),
    "attention": lambda: work.attention("", SHAPE, SIZES),
    "attention_scores": lambda: _without_mask(work.attention_scores(SHAPE, SIZES)),
    "attention_softmax": lambda: work.attention_softmax(SHAPE, SIZES),
    "attention_values": lambda: work.attention_values(SHAPE, SIZES),
    "per_head": lambda: work.per_head("", M, h, (K, N), SIZES),
    "copy": lambda: work.copy("", n, SIZES),
    "silu": lambda: work.elementwise("", n, SIZES, flop_per_element=work.FLOP_OF_SILU),
    "gate_mul": lambda: work.elementwise("", n, SIZES, inputs=2, flop_per_element=1),
    "relu": lambda: work.elementwise("", n, SIZES, flop_per_element=work.FLOP_OF_RELU),
    "routing": lambda: work.routing(T, E, u, SIZES),
    "dispatch": lambda: work.dispatch(T, u, H, SIZES),
    "grouped": lambda: work.grouped("", M, (U, E), (K, N), SIZES),
    "combine": lambda: work.combine(T, u, H, SIZES),
    "scale_rows": lambda: work.scale_rows("", M, N, SIZES, family=""),
    "sampling": lambda: work.sampling(M, V, SIZES),
}


def _without_mask(one: Work) -> Work:
    return one._replace(read_bytes=one.read_bytes - SIZES.activation * SHAPE.mask_count)


def _value(formula: str) -> int:
    """Return a formula with numbers for its letters: what stands side by side is multiplied."""
    product = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", formula)
    return int(eval(product, {"__builtins__": {}}, {**LETTERS, **BYTES}))


@pytest.mark.parametrize("name", list(CODE))
def test_a_formula_of_the_page_is_that_of_the_code(name: str) -> None:
    """Each letter a prime: FLOP, bytes read, bytes written."""
    one = CODE[name]()
    assert [_value(text) for text in ROWS[name][1]] == [
        one.flop, one.read_bytes, one.written_bytes,
    ]  # fmt: skip


def test_the_table_has_every_formula_and_every_operation() -> None:
    """Of all models of this package, in every variant."""
    assert set(ROWS) == set(CODE)
    named = {name for names, _ in ROWS.values() for name in re.findall(r"`(\w+)`", names)}
    found = set()
    for model in OWN_MODELS.values():
        experts = model.experts
        for query, phase in ((1, "decode"), (20, "prefill")):
            shape = StepShape(1, 20, query, phase)  # type: ignore[arg-type]
            counts: tuple[tuple[int, ...], ...] = ()
            if experts is not None:
                of_first = query * experts.experts_per_token
                counts = ((of_first, *[0] * (experts.expert_count - 1)),) * experts.layer_count
            is_dense = experts is None and model.latent is None
            for sizes in (Sizes(2, 2, 2), *([Sizes(1, 2, 2)] if is_dense else [])):
                for is_one in (False, True):
                    variant = Variant(sizes, is_eager=is_one, is_paged=is_one,
                                      expands_latent=is_one, groups_experts=is_one)  # fmt: skip
                    found |= {
                        one.name for one in step_operations(model, shape, variant, counts).all
                    }
    assert found == named


def test_the_page_has_every_option_model_backend_and_exit_code() -> None:
    """As the program takes them."""
    options = {word for action in parser()._actions for word in action.option_strings}
    options -= {"-h", "--help", "--device", "--batch-sizes", "--model", "--seed", "--json"}
    assert all(f"`{option}" in PAGE for option in options)
    assert all(f"`{name}`" in PAGE for name in (*OWN_MODELS, *ATTENTION))
    assert all(f"| {code.value} | " in PAGE for code in ExitCode)
