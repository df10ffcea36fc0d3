"""The reference server of the namespace specification, on a folder. Prints its port; ends with its standard input."""

import sys

from lance.namespace import RestAdapter

with RestAdapter("dir", {"root": sys.argv[1]}, port=0) as adapter:
    print(adapter.port, flush=True)
    sys.stdin.read()
