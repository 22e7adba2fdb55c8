"""Puts the text of an unexpected exception into the plugin's log."""

import functools
from collections.abc import Callable

from componentize_py_types import Err
from wit_world.imports import host


def logged(call: Callable) -> Callable:
    """Wraps a call of the server. A component has no standard error, and an exception that is not
    the call's own Err ends it without a text: so its message goes to the plugin's log.
    """

    @functools.wraps(call)
    def wrapper(*args):
        try:
            return call(*args)
        except Err:
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            at = error.__traceback__
            while at is not None:
                text += f"\n  {at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
                at = at.tb_next
            host.log(host.Level.ERROR, text, [])
            raise

    return wrapper
