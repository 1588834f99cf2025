"""A cluster that trains, made up by published rates: its faults, its runs, who looks after them."""
