"""Utility on public data: `run` measures, `leave_one_out` chooses, `report` shows.

Each kind of data has its own module with its sources (`tables` for logistic regression) and its methods
(`logistic`, with its `rivals` and `peers`); `leave_one_out` and `report` work on rows of (data, method,
epsilon, seed) with metrics. Topic models (`texts`, `topics`) and networks (`images`, `networks`) have no
settings to choose: `private_and_not` runs them and prints their scores.
"""
