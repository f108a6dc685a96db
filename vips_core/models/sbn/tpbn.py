"""The three-parameter beta normal (TPBN) shrinkage prior on a weight matrix (the paper's Appendix C).

symbol     code             shape   posterior
---------  ---------------  ------  ----------------------------------------
⟨1/ζ⟩      inverse_scale    (J, K)  ζ_jk: GIG(0, 2⟨ξ_jk⟩, ⟨w_jk²⟩)
⟨ξ⟩        scale_rate       (J, K)  ξ_jk: Gamma(1, ⟨ζ_jk⟩ + ⟨φ_k⟩)
⟨φ⟩        unit_rate        (K,)    φ_k: Gamma(½ + J/2, ⟨ω⟩ + Σ_j⟨ξ_jk⟩)
⟨ω⟩        global_rate      scalar  ω: Gamma(½ + K/2, 1 + Σ_k⟨φ_k⟩)

The paper's q(ξ_jk) lacks ⟨φ_k⟩, which follows from ξ_jk ~ Gamma(½, φ_k). This ξ is not the Pólya–Gamma one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import k0e, k1e

from vips_core.kernels import Array


@dataclass(frozen=True)
class TPBN:
    """Means of the hyper-posteriors."""

    inverse_scale: Array
    scale_rate: Array
    unit_rate: Array
    global_rate: float

    @classmethod
    def start(cls, pixels: int, hidden: int) -> "TPBN":
        """Return the values that the experiments of the paper started from."""
        return cls(np.ones((pixels, hidden)), np.full((pixels, hidden), 0.5), np.ones(hidden), 0.5)

    def updated(self, weight_square: Array) -> "TPBN":
        """Return the hyper-posteriors given ⟨w²⟩, each from the newest values of the others."""
        pixels, hidden = weight_square.shape
        root = np.sqrt(2 * self.scale_rate * weight_square)
        ratio = k1e(root) / k0e(root)  # Bessel functions of order 1 and 0: the mean of a GIG(0, ·, ·)
        scale = np.sqrt(weight_square / (2 * self.scale_rate)) * ratio
        inverse_scale = np.sqrt(2 * self.scale_rate / weight_square) * ratio
        scale_rate = 1 / (scale + self.unit_rate)
        unit_rate = 0.5 * (pixels + 1) / (self.global_rate + scale_rate.sum(axis=0))
        global_rate = 0.5 * (hidden + 1) / (1 + float(unit_rate.sum()))
        return TPBN(inverse_scale, scale_rate, unit_rate, global_rate)
