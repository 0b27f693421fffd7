"""Training and test data made by rule."""
