"""Parts of many files -> runs: which log and which samples belong to which result.

Files that lie together belong together. A server that lies with one result is of that run, values
and samples. A server that serves many results gives its settings and its memory to each, but never
what happened (preemptions, use of the pool), which nobody can take apart afterwards.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nsightlens.serving.path_hints import hints_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from nsightlens.serving.part import Part

__all__ = ["Group", "Located", "groups_of"]

_SERVER_INDEX = re.compile(r"(?:server|replica|instance|worker)[_-]?(\d+)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_MATCHED = ("max_num_seqs", "max_concurrency", "static_batch_size", "replicas")
_BATCHES = {"max_num_seqs", "static_batch_size"}
"""What a name calls a batch size, as ``bs64``, may be the server's setting ``max_num_seqs``."""


@dataclass(frozen=True, eq=False)
class Located:
    """A part, and where its file lies below what the user gave."""

    part: Part
    relative: Path

    @property
    def folder(self) -> tuple[str, ...]:
        """Folders of the file, from the one that was given."""
        return self.relative.parts[:-1]

    @property
    def server_index(self) -> str | None:
        """Number of the server in the file's name: ``metrics_server_1.csv``."""
        match = _SERVER_INDEX.search(self.relative.name)
        return match[1] if match else None


@dataclass(eq=False)
class Group:
    """The parts of one run.

    Parameters
    ----------
    results
        Parts of the benchmark: one, or several of one file with equal ``run_key``.
    own
        Servers and telemetry of this run alone.
    shared
        Servers that other runs share.
    """

    results: list[Located]
    own: list[Located]
    shared: list[Located]


_Index = dict[tuple[object, ...], list[Group]]


def groups_of(located: Sequence[Located]) -> tuple[list[Group], list[tuple[Located, str]]]:
    """Return the parts of each run, and the parts that belong to none, with the reason.

    Parameters
    ----------
    located
        All parts, in the order of their files.
    """
    groups = _of_results([one for one in located if one.part.kind == "result"])
    below = _by_folder(groups)
    indexes: dict[int, _Index] = {}
    unused: list[tuple[Located, str]] = []
    orphans: dict[tuple[str, ...], list[Located]] = defaultdict(list)
    others = [one for one in located if one.part.kind != "result"]
    for place, parts in _together(others).items():
        candidates = _candidates(place, below)
        if candidates:
            key = id(candidates)  # the lists of `below` live as long as it does
            if key not in indexes:
                indexes[key] = _index_of(candidates)
            unused += _attach(parts, candidates, indexes[key])
        elif groups:
            unused += [(one, "lies with no result of a benchmark") for one in parts]
        else:
            orphans[place] += parts
    groups += [Group([], parts, []) for parts in orphans.values()]
    return groups, unused


def _of_results(results: Sequence[Located]) -> list[Group]:
    """Return the runs: a result each, but for clients of servers that ran at once.

    Files of one folder that differ in the number of their server (``..._server_0.json``,
    ``..._server_1.json``) are of one run with so many replicas.
    """
    alike: dict[tuple[str, ...], list[Located]] = defaultdict(list)
    for one in results:
        alike[(*one.folder, _SERVER_INDEX.sub("#", one.relative.name))].append(one)
    keyed: dict[tuple[str, ...], Group] = {}
    for one in results:
        key = (*one.folder, _SERVER_INDEX.sub("#", one.relative.name))
        if not _ran_at_once(alike[key]):
            key = (*one.folder, one.part.path, one.part.run_key or one.part.where)
        if key in keyed:
            keyed[key].results.append(one)
        else:
            keyed[key] = Group([one], [], [])
    return list(keyed.values())


def _ran_at_once(results: Sequence[Located]) -> bool:
    """Whether results are of the servers of one run: one each, under the same load."""
    indexes = {one.server_index for one in results}
    loads = {tuple(one.part.values.get(name) for name in _LOAD) for one in results}
    return len(indexes) == len(results) > 1 and None not in indexes and len(loads) == 1


_LOAD = ("max_num_seqs", "max_concurrency", "request_rate_per_s", "static_batch_size")


def _by_folder(groups: Iterable[Group]) -> dict[tuple[str, ...], tuple[list[Group], list[Group]]]:
    """Return for each folder the runs with a result in it, and those in it or below it."""
    found: dict[tuple[str, ...], tuple[list[Group], list[Group]]] = {}
    for group in groups:
        folder = group.results[0].folder
        for depth in range(len(folder) + 1):
            here, below = found.setdefault(folder[:depth], ([], []))
            below.append(group)
            if depth == len(folder):
                here.append(group)
    return found


def _candidates(
    folder: tuple[str, ...], below: dict[tuple[str, ...], tuple[list[Group], list[Group]]]
) -> list[Group]:
    """Return the runs that a file in this folder may belong to: in it, below it, else beside it."""
    for depth in range(len(folder), -1, -1):
        here, under = below.get(folder[:depth], ([], []))
        if here:
            return here
        if depth < len(folder):
            # A log of bs256/ beside results of bs8/ and bs16/ is of a run without a result.
            name = _DIGITS.sub("#", folder[depth])
            names = {_DIGITS.sub("#", one.results[0].folder[depth]) for one in under}
            if name in names and name != folder[depth]:
                return []
        if under:
            return under
    return []


def _together(others: Iterable[Located]) -> dict[tuple[str, ...], list[Located]]:
    found: dict[tuple[str, ...], list[Located]] = defaultdict(list)
    for one in others:
        found[one.folder].append(one)
    return found


def _attach(
    parts: list[Located], candidates: list[Group], index: _Index
) -> list[tuple[Located, str]]:
    """Give the parts of one folder to runs; return those that cannot be given, with the reason."""
    if len(candidates) == 1:
        candidates[0].own += parts
        return []
    unused: list[tuple[Located, str]] = []
    left: list[Located] = []
    for one in parts:
        matching = _matching(one, index)
        if matching is None:
            left.append(one)
        elif len(matching) == 1:
            matching[0].own.append(one)
        else:
            for group in matching:
                group.shared.append(one)
    servers = [one for one in left if one.part.kind == "server"]
    for one in left:
        if one.part.kind != "server":
            reason = f"lies beside {len(candidates)} results, and nothing says which it is of"
            unused.append((one, reason))
        elif len(servers) == 1:
            for group in candidates:
                group.shared.append(one)
        else:
            reason = (
                f"is one of {len(servers)} servers beside {len(candidates)} results, and nothing "
                "says whose"
            )
            unused.append((one, reason))
    return unused


def _index_of(candidates: Sequence[Group]) -> _Index:
    """Return the runs by what a file beside them may say: a key of its own, a setting, a number.

    Once for all files: thousands of logs may lie beside thousands of results.
    """
    index: _Index = defaultdict(list)
    for group in candidates:
        result = group.results[0]
        if result.part.run_key:
            index["key", result.part.run_key, result.folder].append(group)
        said = {name: _said(result, name) for name in _MATCHED}
        for name in set(_MATCHED) - _BATCHES:
            index[name, said[name]].append(group)
        batches = {said[name] for name in _BATCHES} - {None}
        if not batches and result.relative.stem.isdecimal():
            batches = {int(result.relative.stem)}  # 64.json beside 64.log
        for batch in batches:
            index["batch", batch].append(group)
    return index


def _said(result: Located, name: str) -> object:
    values, hints = result.part.values, hints_of(result.relative)
    hint = hints[name].value if name in hints else None
    return values.get(name, values.get(f"?{name}", hint))


def _matching(one: Located, index: _Index) -> list[Group] | None:
    """Return the runs that say the same as the part, by key, name or setting; None for none."""
    if one.part.run_key and (found := index.get(("key", one.part.run_key, one.folder))):
        return found
    hints = hints_of(one.relative)
    mine = {key: hint.value for key, hint in hints.items() if hint.name == one.relative.name}
    keys = [key for key in _MATCHED if key in mine]
    logged = one.part.values.get("max_num_seqs")
    if keys:
        key, value = keys[0], mine[keys[0]]
    elif logged is not None:
        key, value = "max_num_seqs", logged
    else:
        return None
    return index.get(("batch" if key in _BATCHES else key, value)) or None
