"""Plain masked diffusion decoding (LLaDA's sampler)."""
