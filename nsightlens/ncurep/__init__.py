"""The .ncu-rep file format: reader and writer, knowing nothing of analysis.

``model`` is what a file holds, as plain Python data. Reading: ``wire`` (protobuf fields),
``container`` (blocks and entries), ``scan`` (metrics into columns), ``results``, ``nvtx``,
``rules`` and ``session`` (the other messages), ``faults`` (damage told as typed errors) and
``read``, the door. Writing: ``spec`` (what to write), ``encode`` and ``write``.
"""

from nsightlens.ncurep.read import read_ncu_rep

__all__ = ["read_ncu_rep"]
