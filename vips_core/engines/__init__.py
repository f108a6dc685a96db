"""Where sums are computed, on behalf of the wall: threads of this process, or the workers of a cluster."""
