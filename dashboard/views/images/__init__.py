"""The page Images."""
