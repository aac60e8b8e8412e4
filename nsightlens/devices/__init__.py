"""Peak rates: what a GPU could do, from its report, its attributes or its data sheet."""
