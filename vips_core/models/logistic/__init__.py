"""Bayesian logistic regression."""
