"""Optional dependencies: the command that installs the packages of an extra."""

from __future__ import annotations

import re
from importlib import metadata

#: ``scikit-learn>=1.7; extra == 'learn'``, as an installed Calipers describes it.
_REQUIREMENT = re.compile(r"""(?P<package>[^;]+?)\s*;.*\bextra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    It names the packages themselves, since ``calipers[extra]`` can only be resolved by an index
    that has Calipers, or by an installer that queries the environment first.

    Parameters
    ----------
    extra : str
        Name of the extra, such as ``"campaign"``.

    Returns
    -------
    str
        The command.

    Examples
    --------
    >>> install_command("campaign").startswith("pip install 'starlette>=")
    True
    """
    try:
        requirement_texts = metadata.requires("calipers") or []
    except metadata.PackageNotFoundError:  # a source folder on the path, not installed
        requirement_texts = []
    requirements = [match for match in map(_REQUIREMENT.fullmatch, requirement_texts) if match]
    packages = sorted(match["package"] for match in requirements if match["extra"] == extra)
    arguments = " ".join(f"'{package}'" for package in packages) or f"'.[{extra}]'"
    return f"pip install {arguments}"
