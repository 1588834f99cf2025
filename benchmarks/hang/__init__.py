"""Bench `hang`: recorded runs that fall silent at known lines, and silences that are none."""
