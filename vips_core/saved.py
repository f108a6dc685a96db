"""A fit as plain files: parameters as arrays, model and plan as JSON, never pickle.

A folder holds `params.npz`, `ledger.json` and `fit.json`: the learned parameters, the ledger of the releases,
and the public settings of model and plan.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vips_core import files, validate
from vips_core.models.task import model_types
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records.files.npz import load_arrays

FORMAT = "vips-fit/1"
LEDGER, PARAMETERS, SETTINGS = "ledger.json", "params.npz", "fit.json"


def write_params(path: Path, params: Any) -> None:
    """Write a dataclass of arrays, numbers, texts and further dataclasses to a .npz file."""
    np.savez_compressed(path, **arrays(params))


def read_params(path: Path, like: Any) -> Any:
    """Read what `write_params` wrote, in the types of `like`; `ValueError` if an array is missing."""
    return _params_like(like, load_arrays(path))


def write_settings(path: Path, model: Any, plan: PrivacyPlan) -> None:
    """Write plan and public settings of a model as JSON; of a user's own model, only the name."""
    registered = model_types().get(type(model).__name__) is type(model)
    fields = dataclasses.fields(model) if registered else ()
    settings = {field.name: getattr(model, field.name) for field in fields}
    content = {
        "format": FORMAT,
        "model": {"class": type(model).__name__, "settings": settings},
        "plan": dataclasses.asdict(plan),
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")


def read_settings(path: Path, model: Any = None) -> tuple[Any, PrivacyPlan]:
    """Read model and plan from a file of `write_settings`; a given `model` replaces the stored one."""
    try:
        content = json.loads(files.read_bytes(path, files.MOST_DESCRIPTION))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
        described, plan = content["model"], PrivacyPlan(**content["plan"])
        if model is None and described["class"] in (registered := model_types()):
            model = registered[described["class"]](**described["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the fit in {path.parent} cannot be read: {error}") from None
    if model is None:
        raise ValueError(f"{described['class']} is not a model of vips_core: pass it as `model`")
    return model, plan


def read_ledger(path: Path) -> Ledger:
    """Read a fit's ledger."""
    try:
        return Ledger.from_json(files.read_bytes(path, files.MOST_LEDGER).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"the fit in {path.parent} cannot be read: {error}") from None


def arrays(params: Any, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a dataclass, and of the dataclasses in it, as arrays by name."""
    if not dataclasses.is_dataclass(params):
        raise ValueError(f"parameters must be a dataclass to be saved, got {type(params).__name__}")
    named: dict[str, Any] = {}
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if dataclasses.is_dataclass(value):
            named |= arrays(value, f"{prefix}{field.name}.")
        elif value is not None:
            named[prefix + field.name] = np.asarray(value)
    return named


def _params_like(like: Any, arrays: Mapping[str, Any], prefix: str = "") -> Any:
    values = {}
    for field in dataclasses.fields(like):
        old, name = getattr(like, field.name), prefix + field.name
        if dataclasses.is_dataclass(old):
            values[field.name] = _params_like(old, arrays, f"{name}.")
        elif name in arrays:
            values[field.name] = arrays[name].item() if arrays[name].ndim == 0 else arrays[name]
        elif old is not None:
            got = validate.few(sorted(arrays))
            raise ValueError(f"the parameters must have the array {name!r}, got {got}")
    return dataclasses.replace(like, **values)
