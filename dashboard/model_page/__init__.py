"""The shape that the model pages share: choose, train, watch, results, upload."""
