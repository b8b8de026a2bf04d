"""Building a test collection: topics, pools, assessors and what they judge, in one file."""
