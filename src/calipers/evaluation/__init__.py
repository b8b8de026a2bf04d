"""What every evaluation has in common, whatever its task and wherever its rows are."""
