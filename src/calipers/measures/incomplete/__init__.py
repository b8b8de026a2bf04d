"""Between which values further judgments could move a number."""
