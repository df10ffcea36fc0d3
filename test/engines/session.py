"""Runs pieces of Python one after the other, as the cells of one notebook.

Each line of the standard input is a piece as JSON, {"code": …}. Each answers one line of JSON on
descriptor 3: what it printed, the value of its last expression, or the error that it raised.
"""

import ast
import contextlib
import io
import json
import os
import sys
import traceback

#: What the pieces share; functions of it are pickled by value, as those of a notebook.
names = {"__name__": "__main__"}


def run(code):
    """The value of the last expression, or None."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<piece>", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<piece>", "eval"), names)


def answer(code):
    printed = io.StringIO()
    answered = {}
    try:
        with contextlib.redirect_stdout(printed):
            answered["value"] = run(code)
    except BaseException as error:  # A client in Rust may panic.
        answered["error"] = f"{type(error).__name__}: {error}"
        answered["trace"] = traceback.format_exc()[-4000:]
    answered["printed"] = printed.getvalue()
    return answered


with os.fdopen(3, "w", encoding="utf-8") as answers:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line)["code"]), default=str), file=answers, flush=True)
