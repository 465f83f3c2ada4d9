"""What a search may answer."""
