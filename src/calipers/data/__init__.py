"""Input data: TREC files, tables and arrays, with all checks on them."""
