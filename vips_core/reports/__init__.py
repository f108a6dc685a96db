"""Reports that a data steward hands on: figures, the guarantee in prose, and all published files of a run."""
