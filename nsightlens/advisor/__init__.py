"""``serving_runs`` -> advice: the plateau, the batch size, memory to give back, replicas.

- `nsightlens.advisor.answers`: the answers, as data.
- `nsightlens.advisor.setups`: which runs may be compared.
- `nsightlens.advisor.curve`: the runs of one setup, by batch size; `run_columns`, `repeats`,
  `batch_of_run`, `itl_of_run`, `flags`, `flag_words` make it.
- `nsightlens.advisor.plateau`, `nsightlens.advisor.fitting`, `nsightlens.advisor.refusals`: the law
  ITL = t0 + a B, its knee, and where it does not hold.
- `nsightlens.advisor.batch`: the choice, by `constraints`, `neighbours` and `interpolation`.
- `nsightlens.advisor.memory`, `nsightlens.advisor.kv_pool`: the KV pool that it needs.
- `nsightlens.advisor.replicas`, with ``replica_*``: how many servers fit, and what they gain.
- `nsightlens.advisor.step_costs`, `nsightlens.advisor.step_measures`, `nsightlens.advisor.busy`,
  `nsightlens.advisor.why`, `nsightlens.advisor.why_profiles`: what profiles say.
- `nsightlens.advisor.what_if`, with ``what_if_*``, `questions`, `predictions`, `scaling` and
  `measured_law`: what was not measured.
- `nsightlens.advisor.settings`: command lines.
- `nsightlens.advisor.confidence`, `nsightlens.advisor.changes`, `nsightlens.advisor.mismatch`: how
  far to trust it, what would change it, and what was given that may be of something else.
- `nsightlens.advisor.advice`: all of it, in turn.

After "Mind the Memory Gap" (arXiv 2503.08311).
"""
