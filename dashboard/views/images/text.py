"""What the Images page says."""

from collections.abc import Sequence

from dashboard.components import layout
from dashboard.views.images.data import COLUMNS
from vips_core import Images

DICTIONARY_CAPTION = (
    "Weights W of each hidden unit. Blue: the unit adds ink here; vermilion: it takes ink away. The "
    "strongest first."
)
SAMPLES_CAPTION = (
    "Drawn from the model itself: each hidden unit is tossed with its own probability, then each pixel. "
    "Units do not know of each other, so samples look less like real images than reconstructions do."
)
ACCURACY_ALT = "Share of pixels that each method gets right, for each image shown."
_STAYS = "It stays in this visit: it is not stored and does not leave this machine."
OWN_DIGIT = (
    "A digit is cropped, scaled and centred like the training images, then reconstructed by each method. "
    + _STAYS
)
OWN_IMAGE = (
    "A drawing is taken as it is, an upload as a whole, scaled to the size of training images, with light "
    "pixels as 1. Each method reconstructs it. " + _STAYS
)


def failed(methods: Sequence[str], baseline: float) -> str:
    """Say which methods failed."""
    return (
        f"{layout.failed(methods)}: one and the same picture, the average of all held-out images, would get "
        f"{baseline:.1%} of their pixels right."
    )


def comparison_caption(rows: Images, first: int, mark: bool) -> str:
    """Say which images are shown, and what colours mean."""
    last = min(first + COLUMNS - 1, rows.row_count)
    marked = (
        "Vermilion marks wrong pixels, strong where ink is too much and pale where it is missing."
        if mark
        else "The stronger the blue, the likelier the ink."
    )
    return (
        f"Images {first:,} to {last:,} of {rows.row_count:,}. Beside each method: pixel accuracy and log "
        f"likelihood given the hidden units, over all held-out images. {marked}"
    )
