"""The Risk page: its words on top, its ready example, and how its results can be looked at."""

from dashboard.model_page.definition import ModelPage
from dashboard.views.risk import person_form, preview, text
from vips_core.models.task import TASKS

PAGE = ModelPage(
    task=TASKS["logistic"],
    title="Risk from features",
    introduction="Predicts a yes or no, for instance a stroke, from what is known of a person, and says how "
    "sure that is (Bayesian logistic regression). Each training record is protected; all scores are of "
    "public held-out people.",
    example={
        "data": "nhanes-stroke",
        "methods": "refined,paper,strong,non-private",
        "epsilon": 1.0,
        "seed": 1,
    },
    preview=preview.show,
    views=(person_form.PARAMETER,),
    headline=text.headline,
    nothing_held_out="This data set has no public held-out records, so there is no ROC curve, AUC or "
    "calibration: a score of the training records would be a release that no ledger holds.",
)
