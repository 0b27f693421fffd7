"""Text methods: one folder each."""
