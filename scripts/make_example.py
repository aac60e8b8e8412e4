"""Write the bundled examples again, after a change of the model or of the writer."""

from __future__ import annotations

from nsightlens import example
from nsightlens.example.decode_sweep import encode_decode_sweep
from nsightlens.example.serving_sweep import encode_serving_sweep
from nsightlens.example.short_context_sweep import encode_short_context_sweep


def main() -> None:
    """Replace the files and say how large they are."""
    for name, encode in (
        ("decode_sweep", encode_decode_sweep),
        ("short_context", encode_short_context_sweep),
    ):
        target = example.path(name)
        target.write_bytes(encode())
        print(f"{target}: {target.stat().st_size:,} bytes")
    sweep = example.serving_path()
    sweep.write_text(encode_serving_sweep(), encoding="utf-8")
    print(f"{sweep}: {sweep.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
