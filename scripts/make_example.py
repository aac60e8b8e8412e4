"""Write the bundled example report again, after a change of the model or of the writer."""

from __future__ import annotations

from nsightlens import example
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep import write_ncu_rep


def main() -> None:
    """Replace the report and say how large it is."""
    written = write_ncu_rep(example.path(), decode_sweep(), overwrite=True)
    print(f"{written}: {written.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
