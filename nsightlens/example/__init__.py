"""The bundled example: a synthetic decode sweep and the analytic model that writes it."""
