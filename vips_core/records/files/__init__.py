"""File formats to records: a module for each kind, and what they share."""
