"""What a column probably is: its profile, identifying columns, the identifiers that HIPAA names."""
