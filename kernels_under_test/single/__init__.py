"""Single kernels in plain PyTorch: the operations of a decode step, and what sets the ceilings.

- `kernels_under_test.single.kernels`: what there is, with its FLOPs and bytes.
- `kernels_under_test.single.timing`: how one is timed.
- ``python -m kernels_under_test.single NAME``: run one, to be profiled.
"""
