"""Counters of ncu beside the times of nsys: launches matched with the kernels of a trace."""
