"""What importing the package and the first names cost."""

from __future__ import annotations

import subprocess
import sys


def test_parsing_a_name_loads_no_arrow() -> None:
    """One name is parsed without the libraries that only whole columns need."""
    code = (
        "import sys; from nsightlens.kernels import parse_kernel_name; parse_kernel_name('a_gemm');"
        "sys.exit(bool({'pyarrow', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
