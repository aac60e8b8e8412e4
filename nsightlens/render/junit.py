"""Rules of a gate as JUnit XML, which CI systems show: one test case per rule.

A report that could not be read is a test case of its own with an error, so that CI is not green.

There is no standard of the format. What GitLab, Jenkins and the actions of GitHub read is the one
of Apache Ant: ``testsuites > testsuite > testcase > failure`` or ``error``, with counts as
attributes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["junit_xml"]

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""


def junit_xml(
    rows: pa.Table,
    *,
    unread: Sequence[tuple[str, str]] = (),
    suite: str = "nsightlens gate",
) -> str:
    """Return the rules as JUnit XML.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.GATE`.
    unread
        Path and error of each report that could not be read.
    suite
        Name of the test suite.
    """
    table = rows.to_pydict()
    counts = {
        "tests": str(rows.num_rows + len(unread)),
        "failures": str(table["status"].count("failed")),
        "errors": str(len(unread)),
    }
    root = ET.Element("testsuites", {"name": suite, **counts})
    inner = ET.SubElement(root, "testsuite", {"name": suite, **counts, "skipped": "0"})
    for name, status, message, metric, limit, scope in zip(
        *(table[one] for one in ("rule", "status", "message", "metric", "limit", "scope")),
        strict=True,
    ):
        case = _case(inner, suite, name)
        if status == "failed":
            text = _writable(message)
            failure = ET.SubElement(case, "failure", {"message": text, "type": "nsightlens.gate"})
            where = f"\nscope: {_writable(scope)}" if scope else ""
            failure.text = f"{text}\nallowed: {_writable(metric)} {_writable(limit)}{where}"
        else:
            ET.SubElement(case, "system-out").text = _writable(message)
    for path, error in unread:
        case = _case(inner, suite, f"read {path}")
        text = _writable(error)
        ET.SubElement(case, "error", {"message": text, "type": "nsightlens.unread"}).text = text
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(parent: ET.Element, suite: str, name: str) -> ET.Element:
    # All three are what a CI system files the case under, and asks for.
    words = {"classname": suite, "name": _writable(name), "time": "0"}
    return ET.SubElement(parent, "testcase", words)


def _writable(text: str) -> str:
    return _NOT_XML.sub("?", text)
