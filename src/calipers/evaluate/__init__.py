"""The verbs, one file a task: they bring data, statistics, measures and inference together."""
