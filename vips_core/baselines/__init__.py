"""Rivals of Bayesian logistic regression: non-private ERM, objective perturbation, DP-SGD."""
