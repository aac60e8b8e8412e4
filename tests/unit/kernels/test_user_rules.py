"""Rules for kernel names that a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from nsightlens.errors import SettingsFileError
from nsightlens.kernels import (
    parse_kernel_name,
    parse_kernel_names,
    parse_launch_kernels,
    read_user_rules,
    user_rules_of,
)

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
[[rule]]
id = "router"
name = "my_fused_.*"
family = "moe_routing"
subtype = "gate"
also = ["gemm"]
note = "ours"

[[rule]]
id = "paged"
words = "turbo attention|attn -merge"
shape = 'turbo_attn_(?P<letter>[hb])(?P<head_dim>\\d+)_(?P<tile_m>\\d+)x(?P<tile_n>\\d+)'
family = "attention"
phase = "decode"
dtypes = ["bf16"]
library = "turbo"
arch = "sm90"
short = "turbo {head_size} {tile}"
"""


def _rule(**keys: Any) -> dict[str, Any]:
    return {"id": "one", "family": "norm", "name": "x", **keys}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a file of two rules."""
    path = tmp_path / "rules.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_rule_by_name_wins_over_every_built_in_rule(path: Path) -> None:
    """The name may be the whole one, or the kernel's own with or without its namespaces."""
    rules = read_user_rules(path)
    names = ["my_fused_gemm", "void my_fused_gemm<4>(float*)", "void a::my_fused_softmax(int)"]
    for name in names:
        kernel = parse_kernel_name(name, rules)
        assert (kernel.family, kernel.subtype, kernel.rule) == (
            "moe_routing",
            "gate",
            "user.router",
        )
        assert (kernel.also, kernel.note) == (("gemm",), "ours")
    assert parse_kernel_name(names[0]).family == "gemm"


def test_a_rule_by_words_reads_fields_as_a_built_in_one_does(path: Path) -> None:
    """Its shape must fit, and its groups fill the fields."""
    rules = read_user_rules(path)
    kernel = parse_kernel_name("turbo_attn_h128_64x32", rules)
    assert (kernel.family, kernel.phase, kernel.dtypes) == ("attention", "decode", ("bf16",))
    assert (kernel.tile, kernel.head_dim, kernel.arch) == ("64x32", "128", "sm90")
    assert (kernel.library, kernel.short_name) == ("turbo", "turbo 128 64x32")
    assert parse_kernel_name("turbo_attn_x", rules).rule == "words.attention"
    assert parse_kernel_name("turbo_attn_merge_h1_1x1", rules).rule != "user.paged"


def test_a_rule_by_words_finds_what_a_vehicle_carries() -> None:
    """As for built-in rules, template arguments are asked where the kernel's name says nothing."""
    rules = user_rules_of([{"id": "zap", "words": "zap", "family": "copy"}])
    name = "void cutlass::device_kernel<lib::ZapOperation<4>>(T1)"
    assert parse_kernel_name(name, rules).rule == "user.zap"
    assert parse_kernel_name("void lib::zap::run<4>(int)", rules).rule == "user.zap"


def test_what_a_user_calls_other_lacks_no_word() -> None:
    """A note of such a rule is the user's, or there is none."""
    name, rule = "a_zap_b", _rule(name="a_zap_.*", family="other")
    assert parse_kernel_name(name, user_rules_of([rule])).note == ""
    assert parse_kernel_name(name, user_rules_of([{**rule, "note": "ours"}])).note == "ours"
    assert parse_kernel_name("qqq").note != ""


def test_the_first_rule_that_fits_decides() -> None:
    """Whether it goes by the name or by words."""
    by_name = _rule(id="name", name="a_zap_.*")
    by_words = {"id": "words", "words": "zap", "family": "copy"}
    name = "a_zap_b"
    assert parse_kernel_name(name, user_rules_of([by_name, by_words])).rule == "user.name"
    assert parse_kernel_name(name, user_rules_of([by_words, by_name])).rule == "user.words"


def test_a_rule_may_ask_for_namespaces_and_arguments() -> None:
    """``within`` and ``carries`` must hold too."""
    rules = user_rules_of([
        {"id": "a", "words": "step", "within": "zap", "carries": "Half", "family": "norm"},
    ])  # fmt: skip
    assert parse_kernel_name("void zap::step<Half>(int)", rules).rule == "user.a"
    assert parse_kernel_name("void zap::step<float>(int)", rules).rule == ""
    assert parse_kernel_name("void zop::step<Half>(int)", rules).rule == ""


def test_answers_of_one_set_of_rules_never_turn_up_under_another() -> None:
    """Each remembers its own, also what it learned from names that differ in numbers."""
    norm, copy = (
        user_rules_of([_rule(name="k_.*")]),
        user_rules_of([_rule(name="k_.*", family="copy")]),
    )
    for i in range(5):
        name = f"k_gemm_{i}x{i}"
        assert parse_kernel_name(name, norm).family == "norm"
        assert parse_kernel_name(name, copy).family == "copy"
        assert parse_kernel_name(name).family == "gemm"


def test_a_rule_by_name_may_depend_on_numbers() -> None:
    """What was learned from one name is not what its neighbour is."""
    rules = user_rules_of([_rule(name=r"k_gemm_1\d")])
    found = [parse_kernel_name(f"k_gemm_{i}", rules).family for i in range(8, 22)]
    assert found == ["gemm"] * 2 + ["norm"] * 10 + ["gemm"] * 2


def test_a_group_that_is_no_number_is_no_size() -> None:
    """A user's expression may read anything."""
    rules = user_rules_of([_rule(name=r"k_(?P<tile_m>\w+)_(?P<head_dim>\w+)")])
    assert parse_kernel_name("k_a_b", rules)[8:10] == ("", "")


def test_a_short_name_that_comes_out_empty_is_the_name() -> None:
    """Of each kernel its own."""
    rules = user_rules_of([_rule(name=r"k_(?P<what>[a-z]*)\d*", short="{what}")])
    shorts = [parse_kernel_name(f"k_{i}", rules).short_name for i in range(4)]
    assert shorts == ["k_0", "k_1", "k_2", "k_3"]


def test_columns_follow_the_rules() -> None:
    """Every spelling of a launch is asked, and one that a user's rule fits wins."""
    rules = user_rules_of([_rule(name="_Z3foov|step.*")])
    names = pa.array(["step_1", "a_gemm", None])
    assert parse_kernel_names(names, rules)["family"].to_pylist() == ["norm", "gemm", None]
    table = parse_launch_kernels(
        pa.array(["void foo_gemm()", "void bar_gemm()", None]),
        pa.array(["foo_gemm", "bar_gemm", "step"]),
        pa.array(["_Z3foov", "_Z3barv", None]),
        rules=rules,
    )
    assert table["family"].to_pylist() == ["norm", "gemm", "norm"]
    assert table["rule"].to_pylist() == ["user.one", "words.gemm", "user.one"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no [[rule]]. Add one"),
        ("rule = 3", "holds no [[rule]]"),
        ("rules = []", "rules is not a known key. Did you mean rule?"),
        ('format = "x"', "has the format 'x'"),
        ("version = 2\n[[rule]]", "has the version 2"),
        ("version = 1.0\n[[rule]]", "has the version 1.0"),
        ("version = true\n[[rule]]", "has the version True"),
        ("[[rule]", "is not TOML"),
    ],
)
def test_a_file_that_is_none_of_rules_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With what was found there."""
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsFileError) as caught:
        read_user_rules(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_format_and_version_may_be_written(tmp_path: Path) -> None:
    """As in other files of settings."""
    path = tmp_path / "rules.toml"
    path.write_text(f'format = "nsightlens.kernel_rules"\nversion = 1\n{FILE}', encoding="utf-8")
    assert [one.rule.id for one in read_user_rules(path).rules] == ["user.router", "user.paged"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (3, "is not a table"),
        ({"name": "x", "family": "norm"}, "has no id"),
        (_rule(id="a b"), "id is 'a b'. Letters, digits"),
        ({"id": "a", "name": "x"}, "has no family. Allowed are attention, gemm"),
        (_rule(family="gem"), "family is 'gem'. Did you mean gemm?"),
        (_rule(also=["zzz"]), "also is 'zzz'. Allowed are attention"),
        (_rule(also="norm"), "also is 'norm'. Write texts in brackets: also = [\"...\"]."),
        (_rule(dtypes=[16]), "dtypes is [16]"),
        (_rule(phase="decode"), "phase is 'decode'. For the family norm: Allowed are n/a."),
        (_rule(family="attention", phase="n/a"), "Allowed are decode, prefill"),
        (_rule(subtyp="x"), "subtyp is not a known key. Did you mean subtype?"),
        (_rule(weak=True), "weak is not a known key. Known are id, name, words"),
        (_rule(subtype=3), "subtype is 3. Write a text in quotes."),
        (_rule(types={"h": 16}), "types is {'h': 16}"),
        (_rule(words="x"), "has both name and words"),
        ({"id": "a", "family": "norm"}, "has neither name nor words"),
        (_rule(shape="x"), "has both name and shape. shape goes with words only."),
        (_rule(name="("), "name is '(', no regular expression: missing )"),
        (_rule(reads=["*"]), "reads is '*', no regular expression: nothing to repeat"),
        ({"id": "a", "family": "norm", "words": "-x"}, "At least one word must be there"),
        ({"id": "a", "family": "norm", "words": "my_op|x"}, "It is read as: my op"),
        ({"id": "a", "family": "norm", "words": "MyOp"}, "It is read as: my op"),
        ({"id": "a", "family": "norm", "words": "x", "within": "a -b::c"}, "within has 'b::c'"),
        (_rule(short="{tle}"), "short has {tle}. Did you mean tile?"),
        (_rule(short="{"), "short is '{'. Braces stand around the name"),
        (_rule(short="{tile:>10000000000}"), "short is '{tile:>10000000000}'"),
        (_rule(id=""), "id is empty. Write what it is"),
        (_rule(dtypes=["zz"]), "'zz' is no data type. Types are such as bf16"),
        (_rule(dtypes=["bf16", "half"]), "'half' is no data type. Write fp16."),
        (_rule(types={"h": "hh"}), "'hh' is no data type"),
        (_rule(name="x_(?P<dtype>h|bf16)"), "name reads 'h' as a data type"),
        (_rule(reads=["(?P<dtype2>[hb])"], types={"h": "fp16"}), "reads reads 'b' as a data type"),
        (_rule(name="(" * 5000), "no regular expression: "),
    ],
)
def test_what_is_not_understood_is_told_with_its_place(entry: Any, said: str) -> None:
    """Which rule, which key, what was found and what is allowed."""
    with pytest.raises(SettingsFileError) as caught:
        user_rules_of([_rule(id="first"), entry], path="r.toml")
    assert str(caught.value).startswith("r.toml: in [[rule]] 2: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["bf16", "fp8_e4m3", "fp6_e3m2", "nvfp4", "mxfp8", "int4", "tf32"])
def test_a_type_need_not_be_one_that_the_built_in_rules_know(kind: str) -> None:
    """Only what is none at all is refused."""
    rules = user_rules_of([_rule(dtypes=[kind])])
    assert parse_kernel_name("x", rules).dtypes == (kind,)


def test_a_group_may_read_spellings_that_are_explained_or_cannot_be_listed() -> None:
    """Known ones, those of ``types``, and whatever a wider group meets."""
    pattern = "x_(?P<dtype>f16|h)_(?P<dtype2>\\w+)"
    rules = user_rules_of([_rule(name=pattern, types={"h": "fp16"})])
    assert parse_kernel_name("x_h_bf16", rules).dtypes == ("fp16", "bf16")


def test_two_rules_of_one_id_are_refused() -> None:
    """A result could not tell them apart."""
    with pytest.raises(SettingsFileError, match=r"rule\]\] 2: id is 'one', as in \[\[rule\]\] 1"):
        user_rules_of([_rule(), _rule()])
