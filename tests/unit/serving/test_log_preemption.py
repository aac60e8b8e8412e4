"""A preemption that a log cannot tell of is not known, which is not none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.server_logs import (
    NAMESPACE,
    parts_of,
    sgl_decode,
    sgl_start,
    v0_start,
    v0_stats,
    v0_warning,
    v1_start,
    v1_stats,
)

if TYPE_CHECKING:
    from pathlib import Path

END = "INFO 02-19 15:24:52 launcher.py:57] Shutting down FastAPI HTTP server.\n"
SGL_END = "[2025-05-21 10:38:00] INFO:     Finished server process [1]\n"
USE = "#token: 36000, token usage: 0.90"
RETRACTED = "[2025-05-21 10:37:30 TP0] {}. #retracted_reqs: {}, #new_token_ratio: 0.1 -> 0.9\n"


def count(folder: Path, text: str) -> Any:
    """Return the preemptions of a log; ``"unknown"`` where it says none."""
    return parts_of(folder, text).values.get("preemption_count", "unknown")


def test_the_last_number_of_v0_is_a_lower_bound(tmp_path: Path) -> None:
    """Every 50th warning is printed, with the number so far: lines are not counted."""
    part = parts_of(tmp_path, v0_start() + v0_warning(1) + v0_warning(51) + v0_warning(101) + END)
    assert part.values["preemption_count"] == 101
    assert part.derived["preemption_count"] == "at least: vLLM warns of the first and of every 50th"
    assert part.wheres["preemption_count"] == "line 11"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (v0_start() + END, 0),
        (
            v0_start()
            + v0_stats(1, 8, 5.0)
            + v0_stats(6, 0, 0.0).replace("Swapped: 1", "Swapped: 0"),
            0,
        ),
        (v0_start() + v0_stats(1, 8, 5.0), "unknown"),
        (v0_stats(1, 8, 5.0) + v0_stats(6, 0, 0.0) + END, "unknown"),
        (v0_start("0.4.1") + END, "unknown"),
        (v0_start(), "unknown"),
    ],
    ids=["to the end", "to a rest", "cut", "without its start", "too old", "never served"],
)
def test_no_warning_of_v0_is_none_only_in_a_whole_log(
    tmp_path: Path, text: str, expected: object
) -> None:
    """The first preemption is always warned of, so that a log from start to end tells of each."""
    assert count(tmp_path, text) == expected


def test_v1_before_0_14_never_tells(tmp_path: Path) -> None:
    """Its versions 0.8 to 0.11 print nothing at all about preemptions."""
    text = v1_start("0.11.0") + v1_stats(0, 8, 99.9) + v1_stats(10, 0, 0.0)
    assert count(tmp_path, text) == "unknown"


def test_v1_from_0_14_on_tells_what_was_since_the_line_before(tmp_path: Path) -> None:
    """The numbers of lines are added up, and none is none in a log that ends at rest."""
    busy = v1_stats(0, 8, 99.9, more=", Preemptions: 3") + v1_stats(
        10, 8, 99.9, more=", Preemptions: 4"
    )
    rest = v1_stats(20, 0, 0.0)
    assert count(tmp_path, v1_start("0.14.0") + busy + rest) == 7
    assert count(tmp_path, v1_start("0.14.0") + v1_stats(0, 8, 50.0) + rest) == 0
    assert count(tmp_path, v1_start("0.14.0") + v1_stats(0, 8, 50.0)) == "unknown"
    cut = parts_of(tmp_path, v1_start("0.14.0") + busy)
    assert "at least" in cut.derived["preemption_count"]


@pytest.mark.parametrize(
    "words", ["Decode out of memory happened", "KV cache pool is full. Retract requests"]
)
def test_retractions_of_sglang_are_added(tmp_path: Path, words: str) -> None:
    """Each line has the requests of one moment."""
    text = sgl_start() + sgl_decode(1, 8, USE)
    text += RETRACTED.format(words, 2) + RETRACTED.format(words, 5)
    assert count(tmp_path, text) == 7


def test_a_whole_log_of_sglang_without_a_retraction_has_none(tmp_path: Path) -> None:
    """SGLang prints each, but a log that was cut may lack the last."""
    text = sgl_start() + sgl_decode(1, 8, USE)
    assert count(tmp_path, text + SGL_END) == 0
    assert count(tmp_path, text) == "unknown"


def test_a_retraction_on_purpose_is_no_shortage(tmp_path: Path) -> None:
    """``Testing retraction.`` is a line of SGLang's own tests."""
    text = sgl_start() + sgl_decode(1, 8, USE)
    text += "[2025-05-21 10:37:30 TP0] Testing retraction. #retracted_reqs: 3\n" + SGL_END
    assert count(tmp_path, text) == 0


def test_the_words_in_an_argument_are_no_end(tmp_path: Path) -> None:
    """Settings that are printed at the start do not end the log."""
    arguments = NAMESPACE.replace("host=None", "host='0.0.0.0'")
    assert count(tmp_path, v0_start(arguments=arguments)) == "unknown"
