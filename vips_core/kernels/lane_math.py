"""Arithmetic of `Lanes`, see `vips_core.kernels.simd`."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from vips_core.kernels.simd import FLAGS, indices, intrinsic, of_vectors


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, in each lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        product = builder.fmul(values[0], values[1], flags=FLAGS)
        return builder.fadd(product, values[2], flags=FLAGS)

    return a(a, a, a), code


def _lane_by_lane(emit: Callable[..., Any], inputs: int) -> Any:
    """Return a function of values of one width that calculates in each lane."""

    def one(typing: Any, a: Any) -> Any:
        return a(a), code

    def two(typing: Any, a: Any, b: Any) -> Any:
        return a(a, a), code

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return emit(builder, *values)

    return intrinsic(one if inputs == 1 else two)


def _power_of_two(builder: Any, whole: Any) -> Any:
    numbers = ir.VectorType(cgutils.int32_t, whole.type.count)
    exponent = builder.add(builder.fptosi(whole, numbers), ir.Constant(numbers, [127] * numbers.count))
    bits = builder.shl(exponent, ir.Constant(numbers, [23] * numbers.count))
    return builder.bitcast(bits, whole.type)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


add = _lane_by_lane(lambda builder, a, b: builder.fadd(a, b), 2)
multiply = _lane_by_lane(lambda builder, a, b: builder.fmul(a, b), 2)
divide = _lane_by_lane(lambda builder, a, b: builder.fdiv(a, b), 2)
maximum = _lane_by_lane(_larger, 2)
minimum = _lane_by_lane(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b), 2)
distance = _lane_by_lane(lambda builder, a, b: of_vectors(builder, "fabs", builder.fsub(a, b)), 2)
whole_part = _lane_by_lane(lambda builder, a: of_vectors(builder, "trunc", a), 1)
square_root = _lane_by_lane(lambda builder, a: of_vectors(builder, "sqrt", a), 1)
power_of_two = _lane_by_lane(_power_of_two, 1)  # of whole numbers from -126 to 127


def _over_lanes(emit: Callable[..., Any]) -> Any:
    """Return a function of some numbers, a power of two of them, that reduces them to one."""

    def of(typing: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            value, half = values[0], a.width // 2
            while half:
                first, second = indices(range(half)), indices(range(half, 2 * half))
                pair = (builder.shuffle_vector(value, value, part) for part in (first, second))
                value, half = emit(builder, *pair), half // 2
            return builder.extract_element(value, cgutils.int32_t(0))

        return types.float32(a), code

    return intrinsic(of)


lane_sum = _over_lanes(lambda builder, a, b: builder.fadd(a, b))
lane_maximum = _over_lanes(_larger)


@intrinsic
def count_below(typing: Any, a: Any, limit: Any) -> Any:
    """Return how many numbers are below a limit."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_ordered("<", *values), ir.IntType(a.width))
        return builder.zext(builder.ctpop(bits), cgutils.intp_t)

    return types.intp(a, a), code
