"""The kinds of problems that tasks are made of, each with all that is its own."""
