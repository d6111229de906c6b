"""What users may give to an estimator: checks of parameters that depend on each other."""
