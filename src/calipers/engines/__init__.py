"""Where batches come from, and who adds them up."""
