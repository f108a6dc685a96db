"""The page Risk."""
