"""The points of curves, their bands, and as many of them as a drawing needs."""
