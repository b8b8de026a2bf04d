"""Problems that tasks consist of, each with its conventions, findings and details."""
