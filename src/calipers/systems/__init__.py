"""What a system says of the data: one file a kind."""
