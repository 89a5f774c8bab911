"""Starting a small Python process of our own: no site-packages, no PYTHON* variables, nothing but this package."""

import sys
from pathlib import Path

import moet_boot

_BOOTSTRAP = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {} import main; sys.exit(main(sys.argv[1:]))"


def isolated(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The argv that runs `main(arguments)` of a module of this package, whatever the environment says.

    The package's folder travels as an argument: in PYTHONPATH it would reach the server and change its imports.
    """
    home = str(Path(moet_boot.__file__).parent.parent)
    return [python, "-I", "-S", "-c", _BOOTSTRAP.format(module), home, *arguments]
