"""Paper-neutral pieces that several methods share: networks, caches, schedules, inputs, traces, loading."""
