"""Resizing images, cutting boxes out of them, and other resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..layout import to_first, to_last
from ..registry import tf_op

_FLOAT = DType.of("float32")


def _mode(c: Call) -> str:
    if c.attr("align_corners"):
        return "align_corners"
    return "half_pixel" if c.attr("half_pixel_centers") else "asymmetric"


def _resized(c: Call, images: Value, size: Value, **attrs: object) -> Value:
    sizes = c.sizes(size)
    assert sizes is not None
    if tuple(sizes) == images.shape[1:3]:
        return images
    first = to_first(c, images)
    found = c.b.Resize(
        first, None, None, c.b.ints(sizes), axes=[2, 3], coordinate_transformation_mode=_mode(c), **attrs
    )
    return to_last(c, found)


@tf_op("ResizeBilinear")
def resize_bilinear(c: Call, images: Value, size: Value) -> Value:
    """ResizeBilinear(images, size) -> resized_images; T, align_corners, half_pixel_centers"""
    x = c.cast(images, _FLOAT)
    if c.attr("align_corners") and any(s == 1 for s in c.sizes(size) or []):
        return _by_weights(c, x, size, lambda n, m: _linear(n, m, c.attr("align_corners"), False))
    return _resized(c, x, size, mode="linear")


@tf_op("ResizeNearestNeighbor")
def resize_nearest(c: Call, images: Value, size: Value) -> Value:
    """ResizeNearestNeighbor(images, size) -> resized_images; T, align_corners, half_pixel_centers"""
    rounding = "floor" if _mode(c) == "asymmetric" else "round_prefer_ceil"
    return _resized(c, images, size, mode="nearest", nearest_mode=rounding)


@tf_op("ResizeBicubic")
def resize_bicubic(c: Call, images: Value, size: Value) -> Value:
    """ResizeBicubic(images, size) -> resized_images; T, align_corners, half_pixel_centers"""
    x = c.cast(images, _FLOAT)
    if _known(c, images, size):
        align, half = c.attr("align_corners"), c.attr("half_pixel_centers")
        return _by_weights(c, x, size, lambda n, m: _cubic(n, m, align, half))
    half = c.attr("half_pixel_centers")
    attrs = {"cubic_coeff_a": -0.5 if half else -0.75, "exclude_outside": int(half)}
    return _resized(c, x, size, mode="cubic", **attrs)


@tf_op("ResizeArea")
def resize_area(c: Call, images: Value, size: Value) -> Value:
    """ResizeArea(images, size) -> resized_images; T, align_corners"""
    return _by_weights(c, c.cast(images, _FLOAT), size, lambda n, m: _area(n, m, c.attr("align_corners")))


@tf_op("ScaleAndTranslate")
def scale_and_translate(c: Call, images: Value, size: Value, scale: Value, translation: Value) -> Value:
    """ScaleAndTranslate(images, size, scale, translation) -> resized_images; T, kernel_type, antialias"""
    scales = c.known_array(scale, "a scale").ravel()
    shifts = c.known_array(translation, "a translation").ravel()
    kind, antialias = c.attr("kernel_type"), c.attr("antialias")
    places = iter(range(2))

    def weights(n: int, m: int) -> np.ndarray:
        i = next(places)
        return _scaled(n, m, float(scales[i]), float(shifts[i]), kind, antialias)

    return _by_weights(c, c.cast(images, _FLOAT), size, weights)


def _known(c: Call, images: Value, size: Value) -> bool:
    sizes = c.maybe_sizes(size)
    return sizes is not None and all(isinstance(s, int) for s in (*sizes, *images.shape[1:3]))


def _by_weights(c: Call, x: Value, size: Value, weights: Callable[[int, int], np.ndarray]) -> Value:
    """Resampling that is linear in the elements: rows and columns times matrices [new, old]."""
    sizes = c.sizes(size)
    assert sizes is not None
    old: list[Size] = list(x.shape[1:3])
    if not all(isinstance(s, int) for s in (*sizes, *old)):
        raise c.unsupported("a size that is not known at import")
    down, across = (weights(int(n), int(m)).astype(np.float32) for n, m in zip(old, sizes, strict=True))  # type: ignore[arg-type]
    first = to_first(c, x)
    b = c.b
    found = b.MatMul(b.MatMul(b.constant(down), first), b.constant(np.ascontiguousarray(across.T)))
    return to_last(c, found)


def _scale(n: int, m: int, align: bool) -> np.float32:
    return np.float32((n - 1) / (m - 1)) if align and m > 1 else np.float32(n / m)


def _linear(n: int, m: int, align: bool, half: bool) -> np.ndarray:
    table = np.zeros((m, n))
    step = _scale(n, m, align)
    for i in range(m):
        at = (i + 0.5) * step - 0.5 if half else i * step
        low = max(math.floor(at), 0)
        high = min(math.ceil(at), n - 1)
        part = at - math.floor(at)
        table[i, low] += 1 - part
        table[i, high] += part
    return table


def _cubic(n: int, m: int, align: bool, half: bool) -> np.ndarray:
    """Catmull-Rom (half pixel centers, weights outside left out) or a = -0.75; the place between two elements is
    rounded to 1/1024, as in TensorFlow's table."""
    table = np.zeros((m, n))
    step = _scale(n, m, align)
    a = -0.5 if half else -0.75
    for i in range(m):
        at = np.float32((np.float32(i) + np.float32(0.5)) * step - np.float32(0.5)) if half else np.float32(i) * step
        low = math.floor(at)
        part = np.rint(float(at - np.float32(low)) * 1024) / 1024
        near = [low - 1, low, low + 1, low + 2]
        values = [_keys(d, a) for d in (1 + part, part, 1 - part, 2 - part)]
        if half:
            values = [v if 0 <= k < n else 0.0 for v, k in zip(values, near, strict=True)]
            total = sum(values)
            values = [v / total for v in values] if abs(total) >= 1000 * np.finfo(np.float32).tiny else values
        for v, k in zip(values, near, strict=True):
            table[i, min(max(k, 0), n - 1)] += v
    return table


def _keys(d: float, a: float) -> float:
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


def _area(n: int, m: int, align: bool) -> np.ndarray:
    table = np.zeros((m, n))
    step = float(_scale(n, m, align))
    for i in range(m):
        start, end = i * step, (i + 1) * step
        for k in range(math.floor(start), math.ceil(end)):
            weight = min(k + 1, end) - max(k, start)
            table[i, min(max(k, 0), n - 1)] += weight / step
    return table


_KERNELS: dict[str, tuple[float, Callable[[float], float]]] = {
    "lanczos1": (1.0, lambda x: _lanczos(x, 1.0)),
    "lanczos3": (3.0, lambda x: _lanczos(x, 3.0)),
    "lanczos5": (5.0, lambda x: _lanczos(x, 5.0)),
    "gaussian": (1.5, lambda x: math.exp(-(x * x) / (2 * 0.5 * 0.5)) if x < 1.5 else 0.0),
    "box": (0.5, lambda x: 1.0 if x < 0.5 else 0.5 if x == 0.5 else 0.0),
    "triangle": (1.0, lambda x: max(1 - x, 0.0)),
    "keyscubic": (2.0, lambda x: _keys(x, -0.5)),
    "mitchellcubic": (2.0, lambda x: _mitchell(x)),
}


def _lanczos(x: float, radius: float) -> float:
    if x > radius:
        return 0.0
    if x <= 1e-3:
        return 1.0
    return radius * math.sin(math.pi * x) * math.sin(math.pi * x / radius) / (math.pi * math.pi * x * x)


def _mitchell(x: float) -> float:
    if x >= 2:
        return 0.0
    if x >= 1:
        return ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return (7 / 6 * x - 2) * x * x + 8 / 9


def _scaled(n: int, m: int, scale: float, shift: float, kind: str, antialias: bool) -> np.ndarray:
    """Weights of ScaleAndTranslate: a kernel around each output's place in the input, stretched when shrinking."""
    radius, kernel = _KERNELS[kind]
    table = np.zeros((m, n))
    inverse = np.float32(1.0 / scale)
    stretch = max(float(inverse), 1.0) if antialias else 1.0
    offset = np.float32(-inverse * np.float32(shift))
    for i in range(m):
        at = np.float32((np.float32(i) + np.float32(0.5)) * inverse + offset)
        if at < 0 or at > n:
            continue
        low = max(math.ceil(at - radius * stretch - 0.5), 0)
        high = min(math.floor(at + radius * stretch - 0.5), n - 1) + 1
        values = [kernel(abs(float(np.float32(k + 0.5) - at)) / stretch) for k in range(low, high)]
        total = sum(values)
        if abs(total) >= 1000 * np.finfo(np.float32).tiny:
            table[i, low:high] = np.array(values) / total
    return table


@tf_op("CropAndResize")
def crop_and_resize(c: Call, image: Value, boxes: Value, box_ind: Value, crop_size: Value) -> Value:
    """CropAndResize(image, boxes, box_ind, crop_size) -> crops; T, method, extrapolation_value"""
    b = c.b
    height, width = image.shape[1:3]
    sizes = c.ints(crop_size, "a crop size")
    rows = b.Gather(c.cast(image, _FLOAT), c.int64(box_ind), axis=0)
    nearest = c.attr("method") == "nearest"
    places = [_box_places(c, boxes, axis, n, m) for axis, (n, m) in enumerate(zip((height, width), sizes, strict=True))]
    inside = []
    for place, n in zip(places, (height, width), strict=True):
        last = c.scalar(n - 1, _FLOAT)
        inside.append(b.And(b.GreaterOrEqual(place, c.number(0, _FLOAT)), b.LessOrEqual(place, last)))
    y, x = (_sampled_axis(c, p, n, nearest) for p, n in zip(places, (height, width), strict=True))
    found = b.MatMul(b.MatMul(c.unsqueeze(y, 1), to_first(c, rows)), c.unsqueeze(c.transpose(x, (0, 2, 1)), 1))
    keep = b.And(c.unsqueeze(inside[0], 2, 3), c.unsqueeze(inside[1], 1, 3))
    return b.Where(keep, to_last(c, found), c.number(c.attr("extrapolation_value"), _FLOAT))


def _box_places(c: Call, boxes: Value, axis: int, size: Size, count: int) -> Value:
    """Where in the image each row (or column) of each crop lies: [boxes, count]."""
    b = c.b
    first, last = (c.cast(b.Gather(boxes, b.ints(k), axis=1), _FLOAT) for k in (axis, axis + 2))
    reach = c.scalar(size - 1, _FLOAT)
    start = b.Mul(first, reach)
    if count == 1:
        return b.Mul(b.Add(start, b.Mul(last, reach)), c.number(0.5, _FLOAT))
    step = b.Div(b.Mul(b.Sub(last, first), reach), c.number(count - 1, _FLOAT))
    return b.Add(start, b.Mul(b.constant(np.arange(count, dtype=np.float32)), step))


def _sampled_axis(c: Call, place: Value, size: Size, nearest: bool) -> Value:
    """Weights [boxes, count, size] of the elements at these places."""
    b = c.b
    numbers = c.cast(b.Range(b.scalar(0), b.scalar(size), b.scalar(1)), _FLOAT)
    if nearest:
        place = b.Floor(b.Add(place, c.number(0.5, _FLOAT)))
    distance = b.Abs(b.Sub(c.unsqueeze(place, 2), numbers))
    return b.Relu(b.Sub(c.number(1, _FLOAT), distance))


@tf_op("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def projective_transform(c: Call, images: Value, transforms: Value, output_shape: Value, *fill: Value) -> Value:
    """ImageProjectiveTransformV2(images, transforms, output_shape) -> transformed_images; dtype, interpolation,
        fill_mode
    ImageProjectiveTransformV3(images, transforms, output_shape, fill_value) -> transformed_images; dtype,
        interpolation, fill_mode
    """
    b = c.b
    height, width = c.ints(output_shape, "an output shape")
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    t = [b.Gather(c.cast(transforms, _FLOAT), b.ints(k), axis=1) for k in range(8)]
    flat_x, flat_y = (b.constant(v.reshape(1, -1)) for v in (columns, rows))

    def linear(i: int, one: Value) -> Value:
        return b.Add(b.Add(b.Mul(t[i], flat_x), b.Mul(t[i + 1], flat_y)), one)

    below = linear(6, c.number(1, _FLOAT))
    x, y = b.Div(linear(0, t[2]), below), b.Div(linear(3, t[5]), below)
    fill_mode = c.attr("fill_mode") if "fill_mode" in c.known.attributes else "CONSTANT"
    if fill_mode not in ("CONSTANT", "NEAREST"):
        raise c.unsupported(f"the fill mode {fill_mode}")
    value = fill[0] if fill else c.number(0, _FLOAT)
    return _at_places(c, images, x, y, (height, width), fill_mode, value)


def _half_away(c: Call, x: Value) -> Value:
    """Rounded, halves away from zero."""
    b = c.b
    half = c.like(0.5, x)
    return b.Where(b.Less(x, c.like(0, x)), b.Ceil(b.Sub(x, half)), b.Floor(b.Add(x, half)))


def _at_places(c: Call, images: Value, x: Value, y: Value, size: Sequence[int], fill_mode: str, fill: Value) -> Value:
    b = c.b
    batch, old_height, old_width, channels = images.shape
    flat = c.reshape(images, (batch, old_height * old_width, channels))
    if x.shape[0] != batch:
        x, y = (c.expand(v, (batch, v.shape[1])) for v in (x, y))

    def read(row: Value, column: Value) -> Value:
        rows, columns = c.int64(row), c.int64(column)
        zero = np.int64(0)
        last_row, last_column = b.scalar(old_height - 1), b.scalar(old_width - 1)
        safe_row = b.Max([b.Min([rows, last_row]), zero])
        safe_column = b.Max([b.Min([columns, last_column]), zero])
        place = b.Add(b.Mul(safe_row, b.scalar(old_width)), safe_column)
        found = b.GatherND(flat, c.unsqueeze(place, 2), batch_dims=1)
        if fill_mode == "NEAREST":
            return c.cast(found, _FLOAT)
        fits = b.And(b.Equal(rows, safe_row), b.Equal(columns, safe_column))
        return b.Where(c.unsqueeze(fits, 2), c.cast(found, _FLOAT), fill)

    if c.attr("interpolation") == "NEAREST":
        found = read(_half_away(c, y), _half_away(c, x))
    else:
        top, left = b.Floor(y), b.Floor(x)
        one = c.number(1, _FLOAT)
        down, right = (c.unsqueeze(b.Sub(p, q), 2) for p, q in ((y, top), (x, left)))
        low, far = b.Add(top, one), b.Add(left, one)
        upper = b.Add(b.Mul(read(top, left), b.Sub(one, right)), b.Mul(read(top, far), right))
        lower = b.Add(b.Mul(read(low, left), b.Sub(one, right)), b.Mul(read(low, far), right))
        found = b.Add(b.Mul(upper, b.Sub(one, down)), b.Mul(lower, down))
    return c.cast(c.reshape(found, (batch, *size, channels)), images.dtype)
