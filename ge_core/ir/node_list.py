"""The nodes of a block as a doubly linked list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ge_core.errors import GraphError

if TYPE_CHECKING:
    from ge_core.ir.graph import Block, Node


class NodeList:
    """A doubly linked list of nodes with stable order; iteration allows removing the current node."""

    __slots__ = ("_block", "_len", "first", "last")

    def __init__(self, block: Block) -> None:
        self._block = block
        self.first: Node | None = None
        self.last: Node | None = None
        self._len = 0

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[Node]:
        node = self.first
        while node is not None:
            following = node.next
            yield node
            # a removed node has no block: go on with what followed it, else with what follows it now
            node = node.next if node.block is self._block else following

    def __reversed__(self) -> Iterator[Node]:
        node = self.last
        while node is not None:
            before = node.prev
            yield node
            node = node.prev if node.block is self._block else before

    def _link(self, node: Node, before: Node | None) -> None:
        if node.block is not None:
            raise GraphError(f"{node!r} is already in a graph")
        node.block = self._block
        after = self.last if before is None else before.prev
        node.prev, node.next = after, before
        if after is None:
            self.first = node
        else:
            after.next = node
        if before is None:
            self.last = node
        else:
            before.prev = node
        self._len += 1
        for value in node.outputs:
            value.owner = self._block

    def append(self, node: Node) -> Node:
        self._link(node, None)
        return node

    def insert_before(self, anchor: Node, node: Node) -> Node:
        assert anchor.block is self._block
        self._link(node, anchor)
        return node

    def insert_after(self, anchor: Node, node: Node) -> Node:
        assert anchor.block is self._block
        self._link(node, anchor.next)
        return node

    def unlink(self, node: Node) -> None:
        """Take a node out of the list and leave its inputs and outputs alone (to move it)."""
        assert node.block is self._block
        if node.prev is None:
            self.first = node.next
        else:
            node.prev.next = node.next
        if node.next is None:
            self.last = node.prev
        else:
            node.next.prev = node.prev
        node.prev = node.next = node.block = None
        self._len -= 1

    def remove(self, node: Node) -> None:
        """Erase a node whose outputs have no uses; its input and capture uses go away.

        Raises:
            GraphError: an output is still used.
        """
        for value in node.outputs:
            if value.has_uses:
                raise GraphError(f"cannot remove {node!r}: %{value.name} is still used", where=node.loc)
        node.set_inputs(())
        for region in node.regions.values():
            region.drop()
        self.unlink(node)
