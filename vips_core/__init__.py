"""Differentially private variational Bayes: plan a budget, train behind a wall, account for what left it."""

from pathlib import Path

from vips_core.data import BinaryRows, Corpus, LabelledRows, Sharded
from vips_core.fit import Fit, Progress, fit, load, recommend
from vips_core.jobs.registered import fit_registered
from vips_core.kernels import compiled
from vips_core.kernels.exact import cut, lowered
from vips_core.metrics import (
    auc,
    calibration,
    perplexity,
    pixel_accuracy,
    reconstruction_log_likelihood,
    roc,
)
from vips_core.metrics.images import reconstruct
from vips_core.metrics.text import match_topics, npmi_coherence, unigram_perplexity
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
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.sbn.model import SBN
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.ledger import Ledger, LedgerBlock, LedgerEntry
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit

__all__ = [
    "ACCOUNTANTS",
    "LDA",
    "SBN",
    "AttackRisk",
    "BayesianLogistic",
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

compiled.remove_outdated(Path(__file__).parent)  # before the first kernel is called
