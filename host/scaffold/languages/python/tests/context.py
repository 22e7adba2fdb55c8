"""Lets the tests import the plugin and the types that `waxwing plugin build` generates."""

import pathlib
import sys

_project = pathlib.Path(__file__).resolve().parent.parent
_types = _project / "build" / "bindings"
if not _types.is_dir():
    raise SystemExit("the generated types are not there yet: run `waxwing plugin build` first")
sys.path[:0] = [str(_project / "src"), str(_types)]
