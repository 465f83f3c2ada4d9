"""What a release over time is made of: signatures, and classes in which their values are balanced."""
