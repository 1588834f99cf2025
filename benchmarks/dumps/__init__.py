"""Hangs made up: ranks that run programs, a fault, and what each rank's recorder then holds."""
