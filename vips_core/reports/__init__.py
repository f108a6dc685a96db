"""What a steward hands on: figures, the guarantee in prose, and a report of a run or a sweep."""
