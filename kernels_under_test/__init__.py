"""Decode steps in plain PyTorch with random weights, and single kernels: what the harness profiles.

Nothing here is needed to read a report. PyTorch is loaded by the modules that run something, so
that this package can be imported, and its sizes and formulas be used, without it.

- `kernels_under_test.decode`: the program that ``nsightlens profile --model`` starts.
- `kernels_under_test.models`: which models there are.
- `kernels_under_test.work`, `kernels_under_test.operations`, `kernels_under_test.ranges`: FLOPs and
  bytes of an operation, the operations of a step, and their NVTX ranges.
- `kernels_under_test.decoder`, with `kernels_under_test.attention`, `kernels_under_test.experts`
  and `kernels_under_test.layers`: one step.
- `kernels_under_test.weights`, `kernels_under_test.cache`, `kernels_under_test.inputs`,
  `kernels_under_test.dtypes`: what it starts from.
- `kernels_under_test.backends`: ways to compute attention.
- `kernels_under_test.sweep`, `kernels_under_test.measure`, `kernels_under_test.graphs`: batch sizes
  one after the other, their times, and CUDA graphs.
- `kernels_under_test.refusals`: what cannot be run here.
- `kernels_under_test.single`, `kernels_under_test.ceilings`: single kernels, and the ceilings of a
  GPU that they measure.
"""
