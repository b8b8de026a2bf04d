"""Results for people: text, Markdown, HTML, and charts as Vega-Lite specs.

Nothing here measures anything: these modules read :mod:`calipers.results` and write.
"""
