"""``serving_runs`` -> advice: the plateau, the batch size, memory to give back, replicas.

- `nsightlens.advisor.answers`: the answers, as data.
- `nsightlens.advisor.curve`: the runs of one setup, by batch size.
- `nsightlens.advisor.plateau`, `nsightlens.advisor.fitting`: the law ITL = t0 + a B, and its knee.
- `nsightlens.advisor.batch`, `nsightlens.advisor.memory`, `nsightlens.advisor.replicas`: the
  choice, the KV pool that it needs, and how many servers fit.
- `nsightlens.advisor.step_costs`, `nsightlens.advisor.why`: what profiles say.
- `nsightlens.advisor.what_if`: what was not measured. `nsightlens.advisor.settings`: command lines.
- `nsightlens.advisor.advice`: all of it.

After "Mind the Memory Gap" (arXiv 2503.08311).
"""
