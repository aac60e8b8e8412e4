"""A report and its labels become a folder of Parquet files."""
