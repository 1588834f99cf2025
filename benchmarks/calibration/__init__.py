"""How far confidence can be believed, and the table that it is read from."""
