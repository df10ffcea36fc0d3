# The REST server of the Lance namespace that pylance has, on a folder. Prints its address, and runs until SIGTERM.
import signal
import sys

import lance.namespace

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
adapter = lance.namespace.RestAdapter("dir", {"root": sys.argv[1]}, port=0)
adapter.start()
print(f"http://127.0.0.1:{adapter.port}", flush=True)
signal.sigwait([signal.SIGTERM])
