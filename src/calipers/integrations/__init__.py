"""Integrations with other tools: thin modules that import their tool only when they are called."""
