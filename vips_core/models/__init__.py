"""The models, one folder each, with their protocol and its check. Each import below registers a model."""

# ruff: noqa: F401
import vips_core.models.lda.task
import vips_core.models.logistic.task
import vips_core.models.sbn.task
