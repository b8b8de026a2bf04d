"""Shared layer of all tasks: declarations of tasks, options, rows in memory and in batches."""
