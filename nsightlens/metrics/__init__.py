"""Our columns, from raw metrics in the spellings of every architecture."""
