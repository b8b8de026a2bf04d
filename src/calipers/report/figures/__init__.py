"""The figures of a page: ``page`` says which there are, each kind has a module with its chart, its
words and its numbers, and ``vega`` says how charts are written.
"""
