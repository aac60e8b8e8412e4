"""Reports of a few kilobytes that use every part of the format, to do damage to."""

from __future__ import annotations

from nsightlens.ncurep import encode_ncu_rep
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange, ProcessInfo, RuleMessage
from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec, Uint32
from support import reports


def small_reports() -> list[bytes]:
    """Return reports of one to three kilobytes that use every part of the format."""
    process = ProcessInfo(7, "host", "app")
    state = [
        NvtxDomainState(0, "<default domain>", push_pop=(NvtxRange("outer"), NvtxRange("inner"))),
        NvtxDomainState(
            3,
            "engine",
            push_pop=(NvtxRange("step", category=1, color=2, payload=-3, message="m"),),
            start_end=(NvtxRange("request", payload=0.5, range_id=4, thread_id=5),),
        ),
    ]
    rich = LaunchSpec(
        name="axpy",
        demangled_name="void axpy<float>(float)",
        metrics=[("a", 1), ("b", 2.5), ("c", "text"), ("d", None), ("e", Uint32(7)), ("a", 3)],
        instances={"a": [(16, 1), (32, 2)], "only": [("FFMA", 1.5), (0.5, "x"), (None, 2)]},
        nvtx=state,
        nvtx_other_threads={9: state},
        rules=[RuleMessage("R", "Rule", "S", 4, "Title", "message", 12.5, 2)],
        process=process,
    )
    plain = [
        LaunchSpec(name=f"kernel_{i}", metrics={f"metric_{j}": i + j / 8 for j in range(12)})
        for i in range(6)
    ]
    kinds = [
        LaunchSpec(kind="range", metrics={"a": 1.0}),
        LaunchSpec(kind="cmdlist", metrics={"a": 2.0}),
        LaunchSpec(kind="graph", metrics={"b": 3.0}),
    ]
    session = reports.session(process)
    return [
        encode_ncu_rep(ReportSpec(launches=[rich], sessions=[session], comments="a comment")),
        encode_ncu_rep(plain),
        encode_ncu_rep(plain, Layout(results_per_block=4, strings="last_block")),
        encode_ncu_rep([rich, *kinds], Layout(may_mix_kinds=True, results_per_block=9)),
        encode_ncu_rep(
            [*plain[:2], rich],
            Layout(
                strings="first_use",
                source_count=2,
                source_bytes=40,
                are_sources_beside_results=True,
                section_count=2,
                sections_bytes=60,
            ),
        ),
    ]
