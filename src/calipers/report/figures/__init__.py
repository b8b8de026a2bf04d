"""Figures of a page.

The registry has all charts, each kind has a module with its chart, caption and table, and ``vega``
writes the specs of charts.
"""
