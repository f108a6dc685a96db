"""Sigmoid belief network."""
