"""Small, exact transformer language models in the key names of published checkpoints."""
