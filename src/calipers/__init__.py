"""Calipers."""
