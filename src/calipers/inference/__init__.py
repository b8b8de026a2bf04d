"""How far the numbers could move, and whether two of them differ."""
