"""Binary images: the sigmoid belief network."""

from collections.abc import Mapping
from typing import Any

from vips_core.models.base import Fitted
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.scores import pixel_accuracy, scores
from vips_core.models.task import PaperSettings, Report, Score, Task, by_name, register
from vips_core.options import Option
from vips_core.records import Images

_ACCURACY, _LIKELIHOOD = "pixel accuracy", "log likelihood (nats per image)"


class SBNTask(Task):
    """Sigmoid belief network."""

    name = "sbn"
    title = "Images"
    help = "binary images (sigmoid belief network)"
    product = "Image model"
    kind = "images"
    model_types = (SBN,)
    scores = by_name(
        Score(
            _ACCURACY,
            larger_is_better=True,
            meaning="what share of the pixels of held-out images the model reconstructs correctly",
            in_paper=True,
        ),
        Score(
            _LIKELIHOOD,
            larger_is_better=True,
            meaning="how probable the pixels of a new image are given its own hidden units",
        ),
    )
    validation_records = 500
    tables: tuple[str, ...] = ()
    epochs = 12.0
    options: Mapping[str, Option] = {
        "hidden": Option(
            int,
            "Number of hidden units to learn.",
            50,
            low=1,
            high=1000,
            label="Hidden units",
            symbol="K",
        ),
    }
    clipping = (
        "An image's contribution is bounded by its number of pixels. Refined also scales down an image that "
        "differs from the private mean image by more than a typical image does."
    )
    tuning = (
        "Constants of the refined variant were tuned for held-out pixel accuracy on MNIST, digits, "
        "characters and patches of photographs, all public. Results on these data are therefore somewhat "
        "optimistic."
    )
    paper = PaperSettings(
        {"batch": "Figure 7"}, batches=(400, 1_600, 3_200), noises=(0.8, 1.0, 1.25, 1.5, 2.0)
    )
    score_code = "vips.pixel_accuracy(fit, data.test)"

    def model(self, method: str, values: Mapping[str, Any], train: Images) -> SBN:
        """Return the network for images of this shape."""
        variant = self.methods[method].variant
        return SBN(train.shape[0] * train.shape[1], values["hidden"], train.shape, variant=variant)

    def model_code(self, method: str, values: Mapping[str, Any]) -> str:
        """Return the Python expression for this model."""
        pixels, variant = "data.train.shape[0] * data.train.shape[1]", self.methods[method].variant
        return f'vips.SBN({pixels}, {values["hidden"]}, data.train.shape, "{variant}")'

    def score_validation(self, fit: Fitted[Any], test: Images) -> float:
        """Return the pixel accuracy of a sample of held-out images."""
        return pixel_accuracy(fit, self.validation_sample(test))

    def report(self, fit: Fitted[Any], test: Images | None) -> Report:
        """Return the pixel accuracy and likelihood of held-out images."""
        measured = {}
        if test is not None:
            accuracy, likelihood = scores(fit.model, fit.params, test)
            measured = {_ACCURACY: accuracy, _LIKELIHOOD: likelihood}
        return Report(measured, {}, f"{fit.model.hidden} hidden units for {fit.model.pixels} pixels.")


register(SBNTask())
