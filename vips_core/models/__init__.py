"""The models that the loop can train, each one file."""
