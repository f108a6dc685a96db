"""The page Frontier."""
