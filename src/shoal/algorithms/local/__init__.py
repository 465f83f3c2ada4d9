"""Local recoding: classes of records, each published as what covers it."""
