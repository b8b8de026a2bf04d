"""Test collections: topics, pools, assessors and their relevance judgments, in one file."""
