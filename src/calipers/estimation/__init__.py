"""How a number over each statistic varies: one file a statistic."""
