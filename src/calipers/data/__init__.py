"""What comes in: TREC files, tables, arrays, and every check on them."""
