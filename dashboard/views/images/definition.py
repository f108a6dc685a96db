"""The Images page: its words on top, its ready example, and how its results can be looked at."""

from dashboard.model_page.definition import ModelPage, method_choice
from dashboard.state import Number, Text
from dashboard.views.images import preview
from vips_core.models.task import TASKS

FIRST = Number("first", "First image", 1, 1, 10**9, "", (), whole=True)
SAMPLE = Number("drawn", "Samples", 1, 1, 10**6, "", (), whole=True)
WRONG = Text("wrong", None, "1")
UNITS = method_choice("units", "Dictionary of", TASKS["sbn"], "Whose hidden units are shown.")
PAGE = ModelPage(
    task=TASKS["sbn"],
    title="Images from hidden causes",
    introduction="Puts black-and-white images together from a few hidden causes that are on or off (a "
    "sigmoid belief network). Each training image is protected; what is shown are public held-out images.",
    example={
        "data": "mnist",
        "methods": "refined,non-private,paper,strong",
        "epsilon": 1.0,
        "hidden": 30,
        "epochs": 0.5,
        "seed": 1,
    },
    preview=preview.show,
    follows_some=True,
    views=(FIRST, WRONG, UNITS, SAMPLE),
    nothing_held_out="This data set has no public held-out images, and training images are never shown. Draw "
    "or upload one below to see it reconstructed.",
)
