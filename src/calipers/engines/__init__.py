"""Engines, which read batches of rows and accumulate statistics of them."""
