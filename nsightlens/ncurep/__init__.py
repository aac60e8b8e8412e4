"""The .ncu-rep file format: reader and writer, knowing nothing of analysis."""
