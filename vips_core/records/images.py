"""Binary images."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vips_core import validate
from vips_core.records.base import RowsOfPersons, owned


@dataclass(frozen=True, eq=False, repr=False)
class Images(RowsOfPersons):
    """Binary images, eight pixels to a byte as by ``np.packbits``; unused last bits are 0.

    Parameters
    ----------
    bits
        Images × (height · width / 8 rounded up).
    shape
        (height, width).
    persons
        Person of each image, if persons may have several: text or whole numbers. Images are then ordered by
        person, and only numbers stand for persons. None if each image is a record of its own.

    Examples
    --------
    >>> images = Images.from_images([[0.1, 0.9, 0.7]], threshold=0.5)
    >>> images.unpack()
    array([[0., 1., 1.]], dtype=float32)
    """

    kind: ClassVar[str] = "images"
    public_fields: ClassVar[tuple[str, ...]] = ("shape",)
    row_fields: ClassVar[tuple[str, ...]] = ("bits",)

    bits: NDArray[np.uint8]
    shape: tuple[int, int]
    persons: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        public, bits = self.checked_public(vars(self)), np.asarray(self.bits)
        pixels = math.prod(public["shape"])
        row_bytes = -(-pixels // 8)
        if bits.dtype != np.uint8 or bits.ndim != 2 or len(bits) < 1 or bits.shape[1] != row_bytes:
            raise ValueError(f"bits must be uint8, one or more × {row_bytes}, got {bits.dtype} {bits.shape}")
        if pixels % 8 and (bits[:, -1] & (0xFF >> pixels % 8)).any():
            raise ValueError("bits after the last pixel must be 0")
        (bits,) = self._by_person(bits)
        vars(self).update(public, bits=owned(bits, np.uint8))

    @classmethod
    def from_images(cls, array: ArrayLike, threshold: float, persons: Any = None) -> Self:
        """Make rows from grey images.

        Parameters
        ----------
        array
            n × height × width, or n × pixels.
        threshold
            A pixel above it is 1.
        persons
            Person of each image, if persons may have several.

        Returns
        -------
        Images
            n images.

        Examples
        --------
        >>> Images.from_images([[[0, 255], [200, 0]]], threshold=127).shape
        (2, 2)
        """
        images = np.asarray(array)
        if images.ndim not in (2, 3):
            raise ValueError(f"images must be n × height × width or n × pixels, got shape {images.shape}")
        if images.dtype.kind not in "biuf" or not np.isfinite(images).all():
            raise ValueError(f"images must be finite numbers, got {images.dtype} with other values")
        if not len(images):
            raise ValueError("there must be at least one image")
        shape = (1, images.shape[1]) if images.ndim == 2 else (images.shape[1], images.shape[2])
        pixels = (images > validate.number("threshold", threshold)).reshape(len(images), shape[0] * shape[1])
        return cls(np.packbits(pixels, axis=1), shape, persons)

    def unpack(self, dtype: DTypeLike = np.float32, images: slice = slice(None)) -> NDArray[Any]:
        """Return the pixels of all or some consecutive images.

        Parameters
        ----------
        dtype
            Type of the result.
        images
            The images to unpack: they then take 8 to 64 times the memory.

        Returns
        -------
        array
            Images × (height · width) zeros and ones.
        """
        pixels = self.shape[0] * self.shape[1]
        return np.unpackbits(self.bits[images], axis=1, count=pixels).astype(dtype)

    def adversarial(self, count: int, rng: np.random.Generator) -> Self:
        """Return synthetic images, one per person: white noise, then one empty and one full.

        Parameters
        ----------
        count
            Number of images.
        rng
            Draws the pixels.

        Examples
        --------
        >>> images = Images.from_images([[0, 1, 1]], threshold=0.5)
        >>> images.adversarial(2, np.random.default_rng(0)).unpack()
        array([[0., 0., 0.],
               [1., 1., 1.]], dtype=float32)
        """
        pixels = rng.integers(2, size=(count, *self.shape))
        pixels[-2:-1], pixels[-1:] = 0, 1
        return type(self).from_images(pixels, 0.5, None if self.persons is None else np.arange(count))

    @staticmethod
    def checked_public(public: Mapping[str, Any]) -> dict[str, Any]:
        """Return the height and width of an image."""
        shape = public["shape"]
        try:
            height, width = (validate.whole("a side", side, low=1) for side in shape)
        except (TypeError, ValueError):
            raise ValueError(f"shape must be (height, width) of at least 1 each, got {shape}") from None
        return {"shape": (height, width)}

    def row_bytes(self) -> Iterator[bytes]:
        """Return the packed pixels of each image."""
        return (row.tobytes() for row in self.bits)
