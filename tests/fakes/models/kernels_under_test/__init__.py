"""In front of the real package on ``PYTHONPATH``: the same program without torch, so fast."""
