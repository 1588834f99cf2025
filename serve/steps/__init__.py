"""Step lines whose form is known: their numbers are read by place, many lines at a time."""
