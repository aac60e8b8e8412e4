"""Counters of ncu beside the times of nsys: launches of a report matched with kernels of a trace."""
