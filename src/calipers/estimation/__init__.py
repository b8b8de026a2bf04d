"""Point estimates of measures with their sampling distributions: one module for each statistic."""
