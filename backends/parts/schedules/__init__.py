"""Noise and commit schedules."""
