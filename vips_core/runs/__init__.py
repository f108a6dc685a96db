"""From a request to a trained model with its results: where data come from and what is reported."""
