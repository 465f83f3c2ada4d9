"""The command line: a thin door; policy in, release out."""

from __future__ import annotations

import signal
import sys


def run() -> None:
    """Run the command ``shoal``; a user's mistake is told in words and ends with 1 (usage: 2)."""
    from shoal.cli.app import app
    from shoal.cli.show import print_error
    from shoal.cli.terminal import print_text
    from shoal.errors import ShoalError

    # docker stop, systemd and timeout end politely: leave as after Ctrl-C, with nothing half-written
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        app()
    except ShoalError as error:
        print_error(error, as_json="--json" in sys.argv[1:])
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        print_error(ShoalError("the operating system refused", got=str(error)), as_json="--json" in sys.argv[1:])
        sys.exit(1)
    except KeyboardInterrupt:
        print_text("interrupted; nothing was written", on_stderr=True)
        sys.exit(130)
