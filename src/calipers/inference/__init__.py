"""Statistical inference: confidence intervals, tests and power."""
