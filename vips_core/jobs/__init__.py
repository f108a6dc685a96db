"""Training: requests, plans, and the processes that carry them out."""
