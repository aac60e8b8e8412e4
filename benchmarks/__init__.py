"""Benchmarks: ratios against a peer measured in the same run. Not part of the tests."""
