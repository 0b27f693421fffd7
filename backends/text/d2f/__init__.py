"""Discrete Diffusion Forcing (D2F)."""
