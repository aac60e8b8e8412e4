"""Labels: from the tables of a report to what bounds each launch. Pure functions."""
