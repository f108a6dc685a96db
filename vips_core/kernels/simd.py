"""Vectors of 8 to 64 single-precision numbers, for the sweeps of topics alone.

LLVM vectorises plain loops over contiguous arrays, and all other kernels consist of such loops. The sweeps
and sums of latent Dirichlet allocation are the exception: with plain loops an E-step took 1.35 to 1.55 times
as long (20 and 50 topics, documents of 50 to 500 words), because their rows are too short for LLVM's loops,
and the rows of a document must be transposed first.

`Lanes` is a value of 8, 16, 32 or 64 float32 inside numba code. `load` and `store` move it, `splat` fills it,
and `add`, `multiply`, `divide` and `fma` calculate in each lane. A `width` is a literal number. LLVM lowers a
value to the registers of the machine (AVX, SSE or NEON), so the code is portable. Arrays are contiguous
float32, or float64 for `add_whole`; offsets count numbers, and the caller keeps them inside the array.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

WIDTH = 8  # lanes to whose multiple topics are padded
SUMS = 16  # partial sums of `add_products`
FLAGS = ("contract", "reassoc")  # LLVM may fuse and reorder products and sums
intrinsic: Any = extending.intrinsic  # untyped, because its values have numba's own types


class Lanes(types.Type):
    """The numba type of a vector of `width` float32."""

    def __init__(self, width: int) -> None:
        super().__init__(f"Lanes({width})")
        self.width = width


def _vector(kind: Any) -> Any:
    return ir.VectorType(ir.FloatType(), kind.width)


_FLOATS, _SUMS = _vector(Lanes(WIDTH)), _vector(Lanes(SUMS))
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)


@extending.register_model(Lanes)
class _LanesModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _vector(kind))  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def _product_added(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=FLAGS), c, flags=FLAGS)


def _chosen(builder: Any, one: Any, other: Any, lanes: Iterable[int]) -> Any:
    """Return selected lanes of two values; lanes of the second are numbered after those of the first."""
    numbers = list(lanes)
    places = ir.Constant(ir.VectorType(cgutils.int32_t, len(numbers)), numbers)
    return builder.shuffle_vector(one, other, places)


@intrinsic(prefer_literal=True)
def splat(typing: Any, width: Any, number: Any) -> Any:
    """Return one number in all lanes."""
    kind = Lanes(width.literal_value)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        none = ir.Constant(_vector(kind), ir.Undefined)
        first = builder.insert_element(none, values[1], cgutils.int32_t(0))
        return _chosen(builder, first, first, [0] * kind.width)

    return kind(width, types.float32), code


@intrinsic(prefer_literal=True)
def load(typing: Any, width: Any, array: Any, offset: Any) -> Any:
    """Return `width` numbers of a float32 array from `offset` on."""
    kind = Lanes(width.literal_value)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, array, values[1], values[2], _vector(kind))
        return builder.load(address, align=4)

    return kind(width, array, types.intp), code


@intrinsic
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Write a value's numbers to a float32 array from `offset` on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, array, values[0], values[1], _vector(value))
        builder.store(values[2], address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def add_products(typing: Any, sums: Any, place: Any, value: Any, array: Any, offset: Any) -> Any:
    """Add `value` times the numbers of an array from `offset` on to sixteen sums from `place` on, in turn."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, sums, values[0], values[1], _SUMS)
        others = _pointer(context, builder, array, values[3], values[4], _SUMS)
        total = builder.load(address, align=4)
        for part in range(value.width // SUMS):
            factor = _chosen(builder, values[2], values[2], range(part * SUMS, (part + 1) * SUMS))
            other = builder.load(builder.gep(others, [cgutils.int32_t(part)]), align=4)
            total = _product_added(builder, factor, other, total)
        builder.store(total, address, align=4)
        return context.get_dummy_value()

    return types.void(sums, types.intp, value, array, types.intp), code


@intrinsic
def copy_columns(
    typing: Any, array: Any, offset: Any, stride: Any, source: Any, starts: Any, place: Any, factor: Any
) -> Any:
    """Transpose eight columns of sixteen rows of `source` into `array`.

    The rows start at the sixteen places in `starts`, the columns at `place` in each row. Column i is written
    from offset + i·stride on. Returns each column's sum with rows weighted by `factor`: the sum over the
    first eight rows in the first eight lanes, over the other eight rows in the other lanes.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        to, offset, stride, rows_of, places, place, factor = values
        first_place = context.make_array(starts)(context, builder, places).data

        def row(number: int) -> Any:
            start = builder.load(builder.gep(first_place, [cgutils.int32_t(number)]))
            address = _pointer(context, builder, source, rows_of, builder.add(start, place), _FLOATS)
            return builder.load(address, align=4)

        each = [row(number) for number in range(SUMS)]
        rows = [_chosen(builder, each[i], each[i + WIDTH], range(SUMS)) for i in range(WIDTH)]
        total = ir.Constant(_SUMS, None)
        for number, both in enumerate(rows):
            weight = _chosen(builder, factor, factor, [number] * WIDTH + [number + WIDTH] * WIDTH)
            total = _product_added(builder, weight, both, total)
        for _ in range(3):  # interleaving three times transposes eight rows of eight
            rows = [
                _chosen(builder, rows[i // 2], rows[i // 2 + WIDTH // 2], INTERLEAVED[i % 2])
                for i in range(WIDTH)
            ]
        for column in rows:
            builder.store(column, _pointer(context, builder, array, to, offset, _SUMS), align=4)
            offset = builder.add(offset, stride)
        return total

    return factor(array, types.intp, types.intp, source, starts, types.intp, factor), code


# Lanes that alternate between two values: of the first four of each half, then of the last four.
INTERLEAVED = tuple(
    [half + part + number + other for half in (0, 8) for number in range(4) for other in (0, SUMS)]
    for part in (0, 4)
)


@intrinsic
def add_whole(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Add eight numbers, each cut to a whole number, to eight float64 of an array from `offset` on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _pointer(context, builder, array, values[0], values[1], _DOUBLES)
        kind, name = ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.trunc.v{WIDTH}f32"
        trunc = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
        whole = builder.fpext(builder.call(trunc, [values[2]]), _DOUBLES)
        builder.store(builder.fadd(builder.load(address, align=8), whole), address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


def _lane_by_lane(emit: Callable[..., Any]) -> Any:
    """Return an intrinsic of two values of equal width that calculates in each lane."""

    def of(typing: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return emit(builder, *values)

        return a(a, a), code

    return intrinsic(of)


add = _lane_by_lane(lambda builder, a, b: builder.fadd(a, b))
multiply = _lane_by_lane(lambda builder, a, b: builder.fmul(a, b))
divide = _lane_by_lane(lambda builder, a, b: builder.fdiv(a, b))


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _product_added(builder, *values)

    return a(a, a, a), code


@intrinsic
def lane_sum(typing: Any, value: Any) -> Any:
    """Return the sum of all lanes, by repeatedly adding one half to the other."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        total, half = values[0], value.width // 2
        while half:
            parts = (range(half), range(half, 2 * half))
            total = builder.fadd(*(_chosen(builder, total, total, part) for part in parts))
            half //= 2
        return builder.extract_element(total, cgutils.int32_t(0))

    return types.float32(value), code
