"""Benchmarks: ratios against a peer measured in the same run. A test tries them, briefly."""
