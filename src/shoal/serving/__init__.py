"""SERVING: what every service that listens shares: its socket, its certificate, how long it waits for whom."""
