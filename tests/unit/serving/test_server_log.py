"""A log is known by its lines, and what it is of no use for is refused with the reason."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.server_logs import (
    claimed,
    parts_of,
    sgl_decode,
    sgl_start,
    v0_start,
    v0_stats,
    v0_warning,
    v1_start,
    v1_stats,
)

from nsightlens.errors import ServingFileError
from nsightlens.serving.logs import server_log
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = {
    "v0": v0_start() + v0_stats(1, 8, 50.0) + v0_warning(1),
    "v1": v1_start() + v1_stats(10, 8, 50.0),
    "sglang": sgl_start() + sgl_decode(1, 8, "#token: 9, token usage: 0.50"),
}


@pytest.mark.parametrize("kind", list(WHOLE))
def test_a_log_is_known_by_its_lines(tmp_path: Path, kind: str) -> None:
    """Its name may be any, and the engine is told from its lines."""
    part = parts_of(tmp_path, WHOLE[kind], "notes-of-tuesday")
    assert part.kind == "server"
    assert part.values["engine"] == ("sglang" if kind == "sglang" else "vllm")
    assert part.samples is not None
    assert set(part.wheres) | set(part.derived) <= set(part.values)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps({"text": v0_stats(1, 8, 50.0)}), "a.json"),
        (json.dumps([v0_stats(1, 8, 50.0)]), "list"),
        ("# How to\n" + v0_stats(1, 8, 50.0), "README.md"),
        ("INFO 02-19 15:23:20 client.py:1] Starting the benchmark.\n", "a.log"),
        ("time,running\n1,2\n", "a.csv"),
        ("\0" + v0_start(), "a.bin"),
        ("", "a.log"),
    ],
    ids=["json", "json list", "page", "client", "table", "binary", "empty"],
)
def test_what_quotes_a_log_is_none(tmp_path: Path, text: str, name: str) -> None:
    """Pages and results of others may hold a line of a server."""
    assert not claimed(tmp_path, text, name)


def test_a_log_may_begin_with_other_things(tmp_path: Path) -> None:
    """A script may print for long before it starts the server."""
    text = "+ nvidia-smi\n| NVIDIA-SMI 550 |\n" + "downloading\r\n" * 20_000 + WHOLE["v1"]
    assert parts_of(tmp_path, text, "job.out").values["max_num_seqs"] == 64
    assert parts_of(tmp_path, text, "job.out").wheres["max_num_seqs"] == "line 20004"


def test_the_last_start_counts(tmp_path: Path) -> None:
    """Files are appended to; a note says how often the server was started."""
    first = WHOLE["v0"]
    second = v0_start(blocks=777) + v0_stats(9, 3, 7.0)
    part = parts_of(tmp_path, first + second)
    assert part.values["kv_block_count"] == 777
    assert part.values["kv_peak_pct"] == 7.0
    assert "preemption_count" not in part.values
    (note,) = part.notes
    assert note.key == "several_starts"
    assert "line 11 " in note.text


def test_a_start_that_failed_does_not_hide_the_one_that_served(tmp_path: Path) -> None:
    """What lies beside the log was measured with the server that came to life."""
    failed = (
        "INFO 02-19 15:32:21 api_server.py:528] vLLM API server version 0.6.3\n"
        "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n"
    )
    for text in (WHOLE["v0"] + failed, failed + WHOLE["v0"]):
        part = parts_of(tmp_path, text)
        assert part.values["kv_block_count"] == 1000
        assert [note.key for note in part.notes] == ["several_starts"]


def test_processes_that_start_together_are_one_start(tmp_path: Path) -> None:
    """Each process of one server says which version it is."""
    line = "(ApiServer_1 pid=2) INFO 06-17 10:00:00 [x.py:1] vLLM API server version 0.11.0\n"
    assert parts_of(tmp_path, line + WHOLE["v1"]).notes == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "ValueError: No available memory for the cache blocks. Try increasing it.",
            "no memory was left for its KV cache",
        ),
        (
            "is larger than the maximum number of tokens that can be stored in KV cache",
            "too small for max_model_len",
        ),
        (
            "ValueError: Free memory on startup is less than desired GPU memory utilization (0.9)",
            "less memory was free",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "ran out of memory"),
        ("RuntimeError: Engine core initialization failed. See root cause", "did not start"),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "no memory was left for its KV cache",
        ),
    ],
)
def test_a_server_that_never_served_is_refused(tmp_path: Path, line: str, words: str) -> None:
    """The reason is that of the log, with its line and what to do."""
    text = v0_start().replace("launcher.py:19] Available routes are:", line)
    with pytest.raises(ServingFileError, match=words) as caught:
        parts_of(tmp_path, text)
    assert caught.value.where == ("line 8",)
    assert caught.value.advice.endswith("measure with that one.")


def test_memory_that_runs_out_later_is_noted(tmp_path: Path) -> None:
    """A server that had served says what it had; that it broke must be known."""
    part = parts_of(tmp_path, WHOLE["v0"] + "torch.OutOfMemoryError: CUDA out of memory. Tried\n")
    assert part.values["kv_pool_gib"] == 50.5
    assert [note.key for note in part.notes] == ["out_of_memory"]


def test_a_log_of_a_version_alone_is_refused(tmp_path: Path) -> None:
    """There is nothing in it to use."""
    with pytest.raises(ServingFileError, match="nothing of its settings, memory or load"):
        parts_of(tmp_path, "INFO 02-19 15:22:21 a.py:1] vLLM API server version 0.6.3\n")


def test_lines_that_docker_keeps_as_json_are_read(tmp_path: Path) -> None:
    """A container's log is a JSON object per line, and some may be damaged."""
    lines = [
        json.dumps({"log": f"{line}\n", "stream": "stderr"}) for line in WHOLE["v1"].split("\n")
    ]
    text = "\n".join([*lines, '{"log": "cut', "3", '{"log": 3}'])
    assert parts_of(tmp_path, text).values["kv_pool_tokens"] == 160_000


def test_two_servers_in_one_file_are_refused(tmp_path: Path) -> None:
    """Nobody can tell whose lines are whose once they are mixed in part."""
    one = "".join(f"replica-1  | {line}\n" for line in WHOLE["v0"].splitlines())
    two = one.replace("replica-1", "replica-2")
    assert parts_of(tmp_path, one).values["kv_block_count"] == 1000
    with pytest.raises(ServingFileError, match=r"mixes the lines of 2 servers \(replica-1, repl"):
        parts_of(tmp_path, one + two)


@settings(max_examples=60)
@given(st.sampled_from(list(WHOLE)), st.data())
def test_a_damaged_log_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    """Whatever is cut out or written over, no error but a diagnosis is raised."""
    text = WHOLE[kind]
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 200)))
    junk = data.draw(st.sampled_from(["", "9" * 400, "\n", "-1", "None", "\x1b[31m", "([{<'"]))
    path = tmp_path_factory.mktemp("damaged") / "server.log"
    path.write_text(text[:begin] + junk + text[end:], encoding="utf-8")
    file = OpenedFile(path)
    (log_format,) = server_log.FORMATS
    if not log_format.claims(file):
        return
    with suppress(ServingFileError):
        (part,) = log_format.read(file)
        numbers = [value for value in part.values.values() if isinstance(value, float)]
        assert all(0 <= number < 1e15 for number in numbers)
