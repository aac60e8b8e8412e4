"""A file becomes a Report."""
