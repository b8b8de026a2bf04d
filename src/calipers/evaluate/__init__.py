"""Public evaluation functions, one module per task.

They bring together data, statistics, measures and inference.
"""
