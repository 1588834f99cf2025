"""Pure models: signatures, diagnosis, policy. Nothing here reads a clock, a file or a socket."""
