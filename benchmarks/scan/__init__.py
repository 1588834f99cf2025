"""How fast logs are scanned for signatures, beside ripgrep with the same patterns."""
