"""Names that are no text: protobuf hands them out as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ge_core.errors import ModelImportError


def check_text(model: Any, name: str) -> None:
    """Check that every name in a model is text.

    Args:
        name: what the model is called in messages.

    Raises:
        ModelImportError: one is not UTF-8.
    """
    for text in _names(model):
        if not isinstance(text, str):
            raise ModelImportError(f"{name} has a name that is no text (UTF-8): {text[:40]!r}")


def _names(model: Any) -> Iterator[Any]:
    yield from (entry.domain for entry in model.opset_import)
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from (function.domain, function.name, function.overload, *function.input, *function.output)
        yield from function.attribute
        yield from (entry.domain for entry in function.opset_import)
        yield from (a.name for a in function.attribute_proto)
        yield from _of_nodes(function.node)


def _of_graph(graph: Any) -> Iterator[Any]:
    yield graph.name
    for info in (*graph.input, *graph.output):
        yield info.name
        yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield tensor.name
        for entry in tensor.external_data:
            yield entry.key
            yield entry.value
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield from (node.op_type, node.domain, node.name, node.overload, *node.input, *node.output)
        for entry in node.metadata_props:
            yield entry.key
            yield entry.value
        for attribute in node.attribute:
            yield attribute.name
            yield attribute.ref_attr_name
            if attribute.HasField("g"):
                yield from _of_graph(attribute.g)
            for graph in attribute.graphs:
                yield from _of_graph(graph)
