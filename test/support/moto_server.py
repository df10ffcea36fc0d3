"""Serves S3 in memory on a port of the loopback interface, one request after the other.

moto checks a condition and then writes, without a lock: threads would let two writers win.
"""

import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False)
