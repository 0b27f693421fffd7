"""The studio's faces: the page, the command line and the HTTP names. Never a numerical library.

Deliberately here: the one step that must come before Gradio is imported by any of its modules.
"""

from ui.quick_gradio import install

install()
