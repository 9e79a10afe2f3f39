from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_core.errors import OfflineModelError
from ge_core.ir import DTYPES, Layout, OptionalType, SequenceType, Size, TensorType, Type, Value, symbol
from ge_core.ir.dims import Symbol, floordiv, maximum, minimum, mod, symbols
from ge_core.om.attributes import decode_map, encode_map
from ge_core.om.descriptors import DescriptorReader, DescriptorWriter

N, M, K = symbol("n", 1, 32), symbol("m.seq", 0), symbol("k_1", 2, 2**31)
TABLE = {s.name: s for size in (N, M, K) for s in symbols(size)}


def sizes() -> st.SearchStrategy[Size]:
    leaves = st.one_of(st.integers(1, 10**12), st.sampled_from([N, M, K]))

    def grown(inner: st.SearchStrategy[Size]) -> st.SearchStrategy[Size]:
        pairs = st.tuples(inner, inner)
        positive = st.tuples(inner, st.one_of(st.integers(1, 1000), st.just(N)))
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            st.tuples(inner, st.integers(1, 99)).map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: minimum(*p)),
            pairs.map(lambda p: maximum(*p)),
            positive.map(lambda p: floordiv(*p)),
            positive.map(lambda p: mod(*p)),
        )

    return st.recursive(leaves, grown, max_leaves=6).filter(lambda size: not isinstance(size, int) or 0 <= size < 2**62)


tensors = st.builds(TensorType, st.sampled_from(DTYPES), st.one_of(st.none(), st.lists(sizes(), max_size=4).map(tuple)))
types = st.one_of(
    tensors,
    tensors.map(SequenceType),
    tensors.map(OptionalType),
    tensors.map(lambda t: OptionalType(SequenceType(t))),
    tensors.map(lambda t: SequenceType(OptionalType(t))),
)


def through(value: Value) -> Value:
    """The value after writing and reading its descriptor."""
    writer = DescriptorWriter()
    described = writer.of(value)
    found = DescriptorReader(writer.symbols).read(described)
    back = Value(described.name, found.type)
    back.content, back.layout = found.content, found.layout
    return back


@given(types)
def test_types_come_back(kind: Type) -> None:
    assert through(Value("x", kind)).type == kind


@given(st.lists(sizes(), max_size=5))
def test_contents_come_back(content: list[Size]) -> None:
    value = Value("x", TensorType(DTYPES[7], (len(content),)))
    value.content = tuple(content)
    assert through(value).content == tuple(content)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((0, 1, 2)),
        Layout((0, 2, 1), blocks=((1, 8), (1, 2)), halo=((0, 0), (1, 2), (3, 0)), fill=float("-inf")),
        Layout((2, 1, 0), fill=0.1),
    ],
)
def test_layouts_come_back(layout: Layout) -> None:
    value = Value("x", TensorType(DTYPES[0], (2, 3, 4)))
    value.layout = layout
    assert through(value).layout == layout


def test_symbolic_sizes_carry_ges_marks() -> None:
    described = DescriptorWriter().of(Value("x", TensorType(DTYPES[0], (N, 4, M * 2))))
    assert list(described.shape.dim) == [-1, 4, -1]
    extra = decode_map(described.attr)
    assert extra["shape_range"] == [[1, 32], [4, 4], [0, -1]]
    assert extra["ge.shape"] == ["n", "4", "2*m.seq"]


def test_a_consumers_descriptor_repeats_dtype_and_shape() -> None:
    writer = DescriptorWriter()
    kind = TensorType(DTYPES[0], (N, 4))
    plain, full = writer.plain(kind), writer.of(Value("x", kind))
    assert (plain.dtype, plain.shape, plain.layout) == (full.dtype, full.shape, full.layout)


def test_element_types_that_ge_numbers_need_no_attribute() -> None:
    for dtype in DTYPES:
        described = DescriptorWriter().of(Value("x", TensorType(dtype, ())))
        assert (described.dtype == 0) == (dtype.ge_proto is None) == ("ge.dtype" in described.attr)


def test_one_name_with_two_bounds_is_refused() -> None:
    writer = DescriptorWriter()
    writer.of(Value("x", TensorType(DTYPES[0], (N,))))
    with pytest.raises(OfflineModelError, match="different bounds are named n"):
        writer.of(Value("y", TensorType(DTYPES[0], (symbol("n", 0, 5),))))


def test_a_symbol_whose_name_is_no_name_is_refused() -> None:
    with pytest.raises(OfflineModelError, match="cannot be written as text"):
        DescriptorWriter().of(Value("x", TensorType(DTYPES[0], (symbol("a b"),))))


def change(name: str, value: Any) -> Any:
    return lambda described: encode_map(described.attr, {name: value})


def set_dims(*dims: int) -> Any:
    def act(described: Any) -> None:
        described.shape.dim[:] = dims

    return act


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (change("ge.shape", ["n", "5"]), "and its text .* differ"),
        (change("ge.shape", ["n", "4", "1"]), "and its text .* differ"),
        (change("ge.shape", 1), "and its text .* differ"),
        (change("ge.shape", ["n +", "4"]), "not a size"),
        (change("ge.shape", ["q", "4"]), "uses q, which is not declared"),
        (change("ge.shape", ["n" * 5000, "4"]), "not a size"),
        (change("ge.shape", ["(" * 2000, "4"]), "not a size"),
        (set_dims(-3, 4), "differ"),
        (set_dims(*[-1] * 40), "rank 40"),
        (lambda described: setattr(described, "dtype", 99), "number 99"),
        (lambda described: setattr(described, "dtype", 0), "number 0"),
        (change("ge.dtype", "float32"), "element type 'float32'"),
        (change("ge.container", ["list"]), "unknown container"),
        (change("ge.container", ["seq", "seq"]), "seq directly in a seq"),
        (change("ge.container", ["seq"] * 9), "too many"),
        (change("ge.layout", "{}"), "not a layout"),
        (change("ge.layout", '{"order":[0,0],"blocks":[],"halo":[],"fill":"0x0p+0"}'), "does not fit rank 2"),
        (change("ge.layout", '{"order":[0,1],"blocks":[[2,4]],"halo":[],"fill":"0x0p+0"}'), "does not fit"),
        (change("ge.layout", '{"order":[0,1],"blocks":[[1,-4]],"halo":[],"fill":"0x0p+0"}'), "not a layout"),
        (change("ge.content", []), "no list of sizes"),
        (change("ge.content", ["(", "1+"]), "not a size"),
    ],
)
def test_unsound_descriptors_are_refused(act: Any, message: str) -> None:
    writer = DescriptorWriter()
    described = writer.of(Value("x", TensorType(DTYPES[0], (N, 4))))
    act(described)
    with pytest.raises(OfflineModelError, match=message):
        DescriptorReader(writer.symbols).read(described)


def test_negative_sizes_are_refused() -> None:
    described = DescriptorWriter().of(Value("x", TensorType(DTYPES[0], (3, 4))))
    set_dims(3, -4)(described)
    with pytest.raises(OfflineModelError, match="size of -4"):
        DescriptorReader({}).read(described)


def test_expressions_that_would_explode_are_refused() -> None:
    table = {f"s{i}": Symbol(f"s{i}") for i in range(80)}
    text = "*".join(f"(s{2 * i}+s{2 * i + 1})" for i in range(40))
    with pytest.raises(OfflineModelError, match="not a size"):
        DescriptorReader(table).size(text)
