"""Differentially private variational Bayes: plan a budget, train behind a wall, account for what left it."""

from vips_core.data import BinaryRows, Corpus, LabelledRows
from vips_core.fit import Fit, Progress, fit, recommend
from vips_core.models.base import Block, Model, Raw, Released
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.ledger import Ledger, LedgerBlock, LedgerEntry
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk

__all__ = [
    "ACCOUNTANTS",
    "AttackRisk",
    "BinaryRows",
    "Block",
    "Corpus",
    "Fit",
    "LabelledRows",
    "Ledger",
    "LedgerBlock",
    "LedgerEntry",
    "Model",
    "PrivacyPlan",
    "Progress",
    "Raw",
    "Released",
    "fit",
    "recommend",
]
