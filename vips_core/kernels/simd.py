"""Eight to 64 single-precision numbers at a time, for the sweeps of topics alone.

Plain loops over contiguous arrays are vectorised by LLVM, and are what every other kernel is made of. The
sweeps and sums of latent Dirichlet allocation are the exception: with plain loops an E-step took 1.35 to
1.55 times as long (20 and 50 topics, documents of 50 to 500 words), because their rows are too short for
the loops that LLVM makes, and the rows of a document have to be transposed first.

`Lanes` is a value of 8, 16, 32 or 64 float32 inside numba code. `load` and `store` move it, `splat` fills
it, and `add`, `multiply`, `divide` and `fma` calculate in each lane. Where the width matters, a value that
has it is given as `like`. LLVM lowers a value to the registers of the machine (AVX, SSE or NEON), so that
the code stays portable. Arrays are contiguous float32, or float64 for `add_whole`; offsets count numbers,
and the caller keeps them inside the array.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

WIDTH = 8
SUMS = 16  # partial sums of `add_products`
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
FLAGS = ("contract", "reassoc")
intrinsic: Any = numba_intrinsic  # its values have types of numba's own


# Shuffles of pairs: halves of 128 bits stay apart until the last, as AVX likes it.
PAIRS = (
    ((0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)


class Lanes(types.Type):
    """Numba's type of some float32."""

    def __init__(self, width: int) -> None:
        super().__init__(f"Lanes({width})")
        self.width = width


lanes = Lanes(WIDTH)


def _vector(kind: Any) -> Any:
    return ir.VectorType(ir.FloatType(), kind.width)


_FLOATS = _vector(lanes)
_SUMS = _vector(Lanes(SUMS))


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _vector(kind))  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def indices(numbers: Iterable[int]) -> Any:
    """Return a constant vector of whole numbers."""
    values = list(numbers)
    return ir.Constant(ir.VectorType(cgutils.int32_t, len(values)), values)


@intrinsic(prefer_literal=True)
def zeros(typing: Any, width: Any) -> Any:
    """Return zeros, as many as a literal number says."""
    kind = Lanes(width.literal_value)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(_vector(kind), None)

    return kind(width), code


@intrinsic
def width_of(typing: Any, value: Any) -> Any:
    """Return how many numbers a value has."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_constant(types.intp, signature.args[0].width)

    return types.intp(value), code


@intrinsic
def load(typing: Any, like: Any, array: Any, offset: Any) -> Any:
    """Return the numbers of a float32 array from `offset`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[1], values[1], values[2], _vector(like))
        return builder.load(address, align=4)

    return like(like, array, types.intp), code


@intrinsic
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Write numbers to a float32 array from `offset`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _vector(value))
        builder.store(values[2], address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def splat(typing: Any, like: Any, number: Any) -> Any:
    """Return one number in all lanes."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        none = ir.Constant(_vector(like), ir.Undefined)
        first = builder.insert_element(none, values[1], cgutils.int32_t(0))
        return builder.shuffle_vector(first, first, indices([0] * like.width))

    return like(like, types.float32), code


@intrinsic
def add_products(typing: Any, sums: Any, place: Any, value: Any, array: Any, offset: Any) -> Any:
    """Add `value` times the numbers of an array from `offset` to sixteen sums from `place`, in turn."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _SUMS)
        others = _pointer(context, builder, signature.args[3], values[3], values[4], _SUMS)
        total = builder.load(address, align=4)
        for part in range(value.width // SUMS):
            own = indices(range(part * SUMS, (part + 1) * SUMS))
            factor = builder.shuffle_vector(values[2], values[2], own)
            other = builder.load(builder.gep(others, [cgutils.int32_t(part)]), align=4)
            total = builder.fadd(builder.fmul(factor, other, flags=FLAGS), total, flags=FLAGS)
        builder.store(total, address, align=4)
        return context.get_dummy_value()

    return types.void(sums, types.intp, value, array, types.intp), code


@intrinsic
def copy_columns(
    typing: Any, array: Any, offset: Any, stride: Any, source: Any, starts: Any, place: Any, factor: Any
) -> Any:
    """Write number i of sixteen rows of `source` side by side from offset + i·stride, for 8 i from `place`.

    The rows start at the sixteen places in `starts`. Returns the sums of these numbers, weighted by `factor`:
    in the first eight lanes those of the first eight rows, in the others those of the others.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array, offset, stride, source, starts, place, factor = values
        places = context.make_array(signature.args[4])(context, builder, starts).data
        rows = []
        for number in range(SUMS):
            start = builder.load(builder.gep(places, [cgutils.int32_t(number)]))
            address = _pointer(
                context, builder, signature.args[3], source, builder.add(start, place), _FLOATS
            )
            rows.append(builder.load(address, align=4))
        both = indices(range(SUMS))
        rows = [builder.shuffle_vector(rows[i], rows[i + WIDTH], both) for i in range(WIDTH)]
        total = ir.Constant(_SUMS, None)
        for number, row in enumerate(rows):
            own = indices([number] * WIDTH + [number + WIDTH] * WIDTH)
            weight = builder.shuffle_vector(factor, factor, own)
            total = builder.fadd(builder.fmul(weight, row, flags=FLAGS), total, flags=FLAGS)
        for distance, masks in zip((1, 2, 4), PAIRS, strict=True):
            firsts = [number for number in range(WIDTH) if not number & distance]
            mixed = {
                number + side * distance: builder.shuffle_vector(
                    rows[number], rows[number + distance], indices(_of_both_halves(masks[side]))
                )
                for number in firsts
                for side in (0, 1)
            }
            rows = [mixed[number] for number in range(WIDTH)]
        for row in rows:
            builder.store(row, _pointer(context, builder, signature.args[0], array, offset, _SUMS), align=4)
            offset = builder.add(offset, stride)
        return total

    return factor(array, types.intp, types.intp, source, starts, types.intp, factor), code


def _of_both_halves(mask: tuple[int, ...]) -> list[int]:
    """Return what a shuffle of two eights is for two sixteens whose halves stay apart."""
    first = [number + WIDTH * (number >= WIDTH) for number in mask]
    return first + [number + WIDTH for number in first]


@intrinsic
def add_whole(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Add eight numbers, each cut to a whole number, to as many float64 of an array from `offset`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, signature.args[0], values[0], values[1], _DOUBLES)
        kind, name = ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.trunc.v{WIDTH}f32"
        trunc = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
        whole = builder.fpext(builder.call(trunc, [values[2]]), _DOUBLES)
        builder.store(builder.fadd(builder.load(address, align=8), whole), address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        product = builder.fmul(values[0], values[1], flags=FLAGS)
        return builder.fadd(product, values[2], flags=FLAGS)

    return a(a, a, a), code


def _lane_by_lane(emit: Callable[..., Any]) -> Any:
    """Return a function of two values of one width that calculates in each lane."""

    def of(typing: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return emit(builder, *values)

        return a(a, a), code

    return intrinsic(of)


add = _lane_by_lane(lambda builder, a, b: builder.fadd(a, b))
multiply = _lane_by_lane(lambda builder, a, b: builder.fmul(a, b))
divide = _lane_by_lane(lambda builder, a, b: builder.fdiv(a, b))


@intrinsic
def lane_sum(typing: Any, value: Any) -> Any:
    """Return the sum of all lanes, halves added to halves."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        total, half = values[0], value.width // 2
        while half:
            parts = (indices(range(half)), indices(range(half, 2 * half)))
            total = builder.fadd(*(builder.shuffle_vector(total, total, part) for part in parts))
            half //= 2
        return builder.extract_element(total, cgutils.int32_t(0))

    return types.float32(value), code
