"""Pictures of results as SVG, and SVG as PNG: the block timeline, the cost of a comparison, the trade-off of a sweep.

One small chart kit (palette, drawing, scale) in the look of the page: hairlines, ink, colour only for data. Every picture
carries its own fonts' names, title and description, and nothing that runs or is fetched.

It deliberately knows no store and no record: `app.exports` feeds it and signs what it draws.
"""
