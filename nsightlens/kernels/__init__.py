"""Kernel names: family, subtype, phase, data types and a short name."""
