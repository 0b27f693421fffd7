"""Decoders that other methods are measured against; each is also a method of its own in the text tab."""
