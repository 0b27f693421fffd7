"""Autoregressive decoding with a key-value cache."""
