"""Differentially private variational Bayes: plan a budget, train behind a wall, account for every release."""

from pathlib import Path

from vips_core.fit import Fit, Progress, fit, load, recommend
from vips_core.jobs.registered import fit_registered
from vips_core.kernels import remove_outdated
from vips_core.kernels.exact import cut, lowered
from vips_core.models.base import Block, Model, Raw, Released
from vips_core.models.check import check_model
from vips_core.models.lda.model import (
    LDA,
    infer_topics,
    measured_topics,
    top_words,
    topic_shares,
    topic_words,
)
from vips_core.models.lda.scores import match_topics, npmi_coherence, perplexity, unigram_perplexity
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.logistic.scores import auc, calibration, roc
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.scores import pixel_accuracy, reconstruct, reconstruction_log_likelihood
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.ledger import Ledger, LedgerBlock, LedgerEntry
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit
from vips_core.records import Documents, Images, Sharded, Table

__all__ = [
    "ACCOUNTANTS",
    "LDA",
    "SBN",
    "AttackRisk",
    "BayesianLogistic",
    "Images",
    "Block",
    "Documents",
    "Fit",
    "Table",
    "Ledger",
    "LedgerBlock",
    "LedgerEntry",
    "Model",
    "PrivacyPlan",
    "Progress",
    "Raw",
    "Released",
    "RiskLimit",
    "Sharded",
    "auc",
    "calibration",
    "check_model",
    "cut",
    "fit",
    "fit_registered",
    "infer_topics",
    "load",
    "lowered",
    "match_topics",
    "measured_topics",
    "npmi_coherence",
    "perplexity",
    "pixel_accuracy",
    "recommend",
    "reconstruct",
    "reconstruction_log_likelihood",
    "roc",
    "top_words",
    "topic_shares",
    "topic_words",
    "unigram_perplexity",
]

remove_outdated(Path(__file__).parent)  # before the first kernel is called
