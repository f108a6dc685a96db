"""The page Topics."""
