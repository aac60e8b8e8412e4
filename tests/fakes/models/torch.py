"""A Python without torch: loading the real one takes longer than all that asks for it here."""

raise ModuleNotFoundError("No module named 'torch'", name="torch")
