"""A trace becomes an answer: what each step spent its time on, and what could be gained."""
