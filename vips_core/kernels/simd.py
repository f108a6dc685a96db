"""Eight single-precision numbers at a time, for kernels whose loops LLVM does not vectorise well by itself.

`Lanes` is a value of eight float32 inside numba code: `load` and `store` move it, `splat` and `lane` fill it,
the others calculate. LLVM lowers it to what the machine has (one AVX register, two of SSE or NEON), so that
the code stays portable. Arrays are contiguous float32, or float64 for `add_whole_products`; offsets count
numbers, and the caller keeps them inside the array.
"""

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

WIDTH = 8
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_FLAGS = ("contract", "reassoc")
intrinsic: Any = numba_intrinsic  # its values have types of numba's own


# Shuffles of two values that `totals` adds: halves of 128 bits stay apart until the last, as AVX likes it.
_PAIRS = (
    ((0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)


class Lanes(types.Type):
    """Numba's type of eight float32."""

    def __init__(self) -> None:
        super().__init__("Lanes")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def _indices(numbers: Iterable[int]) -> Any:
    values = list(numbers)
    return ir.Constant(ir.VectorType(cgutils.int32_t, len(values)), values)


@intrinsic
def load(typing: Any, array: Any, offset: Any) -> Any:
    """Return eight numbers of a float32 array from `offset`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _FLOATS)
        return builder.load(address, align=4)

    return lanes(array, types.intp), code


@intrinsic
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Write eight numbers to a float32 array from `offset`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _FLOATS)
        builder.store(values[2], address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """Return one number eight times."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        first = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), values[0], cgutils.int32_t(0))
        return builder.shuffle_vector(first, first, _indices([0] * WIDTH))

    return lanes(types.float32), code


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        product = builder.fmul(values[0], values[1], flags=_FLAGS)
        return builder.fadd(product, values[2], flags=_FLAGS)

    return lanes(lanes, lanes, lanes), code


@intrinsic
def totals(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """Return the sums of the lanes of eight values, in their order."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vectors = list(values)
        for masks in _PAIRS:
            vectors = [
                builder.fadd(*(builder.shuffle_vector(x, y, _indices(mask)) for mask in masks))
                for x, y in zip(vectors[::2], vectors[1::2], strict=True)
            ]
        return vectors[0]

    return lanes(lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes), code


@intrinsic
def divide(typing: Any, a: Any, b: Any) -> Any:
    """Return a/b, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fdiv(*values)

    return lanes(lanes, lanes), code


@intrinsic
def add(typing: Any, a: Any, b: Any) -> Any:
    """Return a + b, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    return lanes(lanes, lanes), code


@intrinsic(prefer_literal=True)
def lane(typing: Any, value: Any, number: Any) -> Any:
    """Return one lane, by a literal number, eight times."""
    which = number.literal_value

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.shuffle_vector(values[0], values[0], _indices([which] * WIDTH))

    return lanes(lanes, number), code


@intrinsic
def add_whole_products(
    typing: Any,
    array: Any,
    offset: Any,
    row: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    e: Any,
    f: Any,
    g: Any,
    h: Any,
) -> Any:
    """Add abr + cdr + efr + ghr to eight float64 of an array from `offset`, r being `row`.

    Each product is computed in float32 and cut to a whole number, so that the sums are exact.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _DOUBLES)
        kind, name = ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.trunc.v{WIDTH}f32"
        cut = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
        total = builder.load(address, align=8)
        for x, y in zip(values[3::2], values[4::2], strict=True):
            product = builder.fmul(builder.fmul(x, y), values[2])
            total = builder.fadd(total, builder.fpext(builder.call(cut, [product]), _DOUBLES))
        builder.store(total, address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, *[lanes] * 9), code
