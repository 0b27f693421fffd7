"""Strings that must be shown and never obeyed: markup, script, template and formatting attacks, and characters nobody sees.

Each payload that could run calls `canary`, which the tests install and which must never be called.

Deliberately absent: attacks on the server.
"""

from typing import Final

HOSTILE: Final = (
    "<img src=x onerror=canary(1)>",
    "<script>canary(2)</script>",
    "${canary(3)}",
    "{{canary(4)}}",
    "`${canary(5)}`",
    "<svg onload=canary(6)>",
    "javascript:canary(7)",
    '"><img src=x onerror=canary(8)>',
    "'><svg/onload=canary(9)>",
    "</textarea><script>canary(10)</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=canary(11)>",
    "<iframe srcdoc='<script>parent.canary(12)</script>'>",
    "<a href=javascript:canary(13)>click</a>",
    "<details open ontoggle=canary(14)>",
    "<style>*{background:red!important}</style>",
    "<input autofocus onfocus=canary(15)>",
    "<body onpageshow=canary(16)>",
    "<noscript><p title='</noscript><img src=x onerror=canary(17)>'>",
    "--><img src=x onerror=canary(18)><!--",
    "]]><img src=x onerror=canary(19)>",
    "%3Cscript%3Ecanary(20)%3C/script%3E",
    "&lt;img src=x onerror=canary(21)&gt;",
    "constructor",
    "__proto__",
    "\u202eright to left override\u202c",
    "\u2066isolate\u2069\u200f\u200e",
    "nul\x00inside",
    "bell\x07escape\x1b[31mred",
    "lone\ud800high",
    "lone\udc00low",
    "z\u0351\u0310\u0306\u0300\u0301\u0302\u0303\u0304a\u0300\u0301\u0302l\u0351\u0350g\u0300o",
    "\ufeffbom\u200bzero\u00adwidth",
    "tab\tnew\nline\r\nend",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 123 \u05e2\u05d1\u05e8\u05d9\u05ea",
    "𝕌𝕟𝕚👩‍👩‍👧‍👦🏳️‍🌈",
    "W" * 400,
    "\u2028separator\u2029",
    "onerror=canary(22)//",
    "*/canary(23)/*",
    "\\u003cscript\\u003ecanary(24)",
)
