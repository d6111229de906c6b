"""How fits avoid poor optima: a summary of the rows that all searches use, one folder for each."""
