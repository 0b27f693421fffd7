"""The studio's faces: the page, the command line and the HTTP names. No logic of its own, and never a numerical library."""
