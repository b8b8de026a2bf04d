"""How models learn: splits of the data, cross-validation, capacity, bias and variance."""
