"""Checks `compile(options=...)`: a key that nobody reads is an error, never ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ge_core.errors import OptionError
from ge_core.plugins.plugin import Plugin


def check_options(options: Mapping[str, object], core: Mapping[str, str], readers: Iterable[Plugin]) -> None:
    """Refuse the first option that neither the core nor one of the plugins at work reads.

    Args:
        options: what the user passed.
        core: the core's own keys, each with a line of explanation.
        readers: the frontend and the backend at work.

    Raises:
        OptionError: it names the nearest key and who reads it.
    """
    owners = dict.fromkeys(core, "the core")
    for plugin in readers:
        owners.update(dict.fromkeys(plugin.info.options, f"the {plugin.info.kind} {plugin.name}"))
    for key in options:
        if key in owners:
            continue
        nearest = get_close_matches(key, owners, n=1)
        raise OptionError(
            f"there is no option {key!r}",
            expected=", ".join(f"{name} ({owner})" for name, owner in sorted(owners.items())) or "no options",
            fix=f"did you mean {nearest[0]!r}, read by {owners[nearest[0]]}?" if nearest else "leave it out",
        )
