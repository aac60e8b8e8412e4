"""The exports of Nsight Systems (SQLite, Arrow, Parquet) as raw tables; nothing of analysis."""
