"""The sentences of the Images page."""

from collections.abc import Sequence

from dashboard.components import layout
from dashboard.views.images.data import COLUMNS
from vips_core import Images

DICTIONARY_CAPTION = (
    "Weights W of each hidden unit, strongest first. Blue: the unit adds ink. Vermilion: it removes ink."
)
SAMPLES_CAPTION = (
    "Random draws from the model: first each hidden unit, then each pixel. Hidden units are independent "
    "in the model, so samples look less realistic than reconstructions."
)
ACCURACY_ALT = "Pixel accuracy of each method, for each image shown."
_STAYS = "Your image is never stored and never leaves this machine."
OWN_DIGIT = (
    "Your digit is cropped, scaled and centred like the training images; each method reconstructs it. "
    + _STAYS
)
OWN_IMAGE = (
    "An upload is scaled to the size of the training images, with light pixels as 1; a drawing is used "
    "unchanged. Each method reconstructs it. " + _STAYS
)


def failed(methods: Sequence[str], baseline: float) -> str:
    """Name the methods that failed."""
    return (
        f"{layout.failed(methods)}: one picture for all images, the average held-out image, gets "
        f"{baseline:.1%} of the pixels right."
    )


def comparison_caption(rows: Images, first: int, mark: bool) -> str:
    """Explain which images are shown, and the colours."""
    last = min(first + COLUMNS - 1, rows.row_count)
    marked = (
        "Vermilion marks wrong pixels: strong for extra ink, pale for missing ink."
        if mark
        else "Stronger blue: ink is more likely."
    )
    return (
        f"Images {first:,} to {last:,} of {rows.row_count:,}. Under each method: pixel accuracy and log "
        f"likelihood given the hidden units, over all held-out images. {marked}"
    )
