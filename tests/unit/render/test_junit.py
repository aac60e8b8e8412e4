"""JUnit XML: what CI systems read."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from nsightlens import tables
from nsightlens.render.junit import junit_xml


def _rows(*rows: dict[str, Any]) -> Any:
    names = [column.name for column in tables.GATE]
    data = {name: [row.get(name) for row in rows] for name in names}
    return tables.table_of(tables.schema_of(tables.GATE), data, len(rows))


def _row(rule: str, status: str, message: str = "m", scope: str | None = None) -> dict[str, Any]:
    return {"rule": rule, "status": status, "message": message, "metric": "duration_ns",
            "limit": "at most 1 ms", "scope": scope}  # fmt: skip


def test_there_is_a_test_case_for_each_rule_and_a_failure_for_each_that_failed() -> None:
    """With the message, what is allowed and the scope."""
    text = junit_xml(_rows(_row("a", "passed"), _row("b", "failed", "<3> & more", "family gemm")))
    root = ET.fromstring(text)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "2", "1")
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    cases = suite.findall("testcase")
    assert [(c.get("name"), c.get("classname")) for c in cases] == [
        ("a", "nsightlens gate"),
        ("b", "nsightlens gate"),
    ]
    assert cases[0].find("failure") is None
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "<3> & more"
    assert failure.text == "<3> & more\nallowed: duration_ns at most 1 ms\nscope: family gemm"


def test_there_is_an_error_for_each_report_that_could_not_be_read() -> None:
    """Beside the rules."""
    root = ET.fromstring(junit_xml(_rows(_row("a", "passed")), unread=[("x\x00", "x: no <such>")]))
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["2", "0", "1"]
    case = root.findall("testsuite/testcase")[1]
    error = case.find("error")
    assert error is not None
    assert (case.get("name"), error.text) == ("read x?", "x: no <such>")


@given(st.text(), st.text(), st.text())
def test_whatever_the_texts_hold_the_xml_can_be_read(name: str, message: str, scope: str) -> None:
    """Also what XML has no way to write."""
    root = ET.fromstring(junit_xml(_rows(_row(name, "failed", message, scope))).encode())
    assert len(root.findall("testsuite/testcase/failure")) == 1
