"""Named checks of a client, run in order. Each prints one line of JSON: its name, and its fault if it has one."""

import json
import sys
import time
import traceback

import pyarrow as pa

#: What the tests say about the server: its url, the key, the namespace to work in, and the kind of its tables.
SERVER = json.loads(sys.argv[1])
NAMESPACE = SERVER["namespace"]
#: True where the reference server of the namespace specification stands behind the gateway.
REFERENCE = SERVER["reference"]
#: Whether everything is checked, or a sample.
ALL = SERVER["all"]

_checks = []


def check(function):
    """Registers a check; checks run in the order of the file."""
    _checks.append((function, True))
    return function


def more(function):
    """Registers a check that is not part of the sample."""
    _checks.append((function, False))
    return function


def run():
    """Runs all checks, later ones too when one fails. The exit code is 0: the lines say what failed."""
    for function, sampled in _checks:
        if not (sampled or ALL):
            continue
        line = {"name": function.__name__.replace("_", " ")}
        try:
            function()
        except BaseException as error:  # A client in Rust may panic.
            line["fault"] = f"{type(error).__name__}: {error}"[:2000]
            line["trace"] = traceback.format_exc()[-1000:]
        print(json.dumps(line), flush=True)


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"found {found!r}, expected {expected!r}")


def eventually(find, expected):
    """Waits for work in the background."""
    for _ in range(600):
        if find() == expected:
            return
        time.sleep(0.05)
    equal(find(), expected)


def refused(call, *texts):
    """Calls what must be refused; the error must have one of the texts."""
    try:
        found = call()
    except Exception as error:
        if any(text in str(error) for text in texts):
            return
        raise AssertionError(f"refused with other words: {error}") from error
    raise AssertionError(f"was not refused, but answered {found!r}")


def rows(start, count):
    """Rows with an identifier, a text, a time and a vector."""
    ids = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"item number {i}" for i in ids], pa.string()),
            "vector": pa.array([[float(i), 0.0] for i in ids], pa.list_(pa.float32(), 2)),
        }
    )


def stream(table):
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
