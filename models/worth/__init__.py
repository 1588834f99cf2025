"""What failures cost, what Relume would have saved, and whether people did the same. Pure."""
