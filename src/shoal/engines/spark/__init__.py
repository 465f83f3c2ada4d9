"""Tables that lie in Apache Spark."""
