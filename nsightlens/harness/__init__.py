"""Decode steps under NVIDIA's profilers: what to run, where it is kept, and what went wrong."""
