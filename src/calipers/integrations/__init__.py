"""Other tools: each module is thin, and needs its tool only when it is called."""
