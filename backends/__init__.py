"""The methods: what the papers do. One folder per method below a tab's folder; `contract` says what a method is."""
