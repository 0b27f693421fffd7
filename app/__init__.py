"""The core: runs, comparisons, devices, provenance. Knows neither gradio nor torch."""
