"""The store: rows in SQL, artifacts in digest-named files. Knows nothing of methods or of the page."""
