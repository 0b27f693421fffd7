"""Fast-dLLM: confidence-parallel decoding with approximate caches."""
