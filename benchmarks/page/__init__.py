"""The dashboard in a real browser: how soon it is there, what it loads, what it says."""
