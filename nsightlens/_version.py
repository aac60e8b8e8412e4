"""The version, in a module that the build and the command line can read alone."""

__version__ = "0.1.0"
