"""What trains: a request, its plan, and the processes that carry it out."""
