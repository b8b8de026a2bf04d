"""Points of curves with their bands, downsampled for drawing."""
