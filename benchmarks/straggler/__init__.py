"""Benches of slow steps: how soon they are found, who is blamed, and what others make of them."""
