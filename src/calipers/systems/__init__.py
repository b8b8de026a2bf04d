"""Outputs of systems on the rows of a data set, one module per kind."""
