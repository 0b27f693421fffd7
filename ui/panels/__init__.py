"""The page's panels beside the bench: History with the queue, Models, Verify. Each module holds the JSON routes of one panel."""
