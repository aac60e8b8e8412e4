"""Decode steps in plain PyTorch with random weights, and single kernels: what the harness profiles.

Nothing here is needed to read a report. PyTorch is loaded by the modules that run something, so
that this package can be imported, and its sizes and formulas be used, without it.
"""
