"""What the tests' fixtures import as `test.service`, which the published archive lacks.

The broker is somebody else's: nothing is started, stopped or waited for, and it has no log that could be shown.
"""


class ExternalService:
    def __init__(self, host, port):
        self.host = host
        self.port = port

    def start(self):
        pass

    stop = open = close = dump_logs = start

    def wait_for(self, pattern, timeout=None):
        return True


class SpawnedService:
    def __init__(self, *args, **options):
        raise RuntimeError("this test starts a broker of its own")
