"""Strings that would break a page that does not escape them."""

import random

#: Beginnings and ends of attacks on pages: elements, attributes, comments, encodings, directions.
PIECES = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    '"><script>window.pwned=1</script>',
    "' onmouseover='window.pwned=1",
    '" autofocus onfocus="window.pwned=1',
    "javascript:window.pwned=1",
    "</style><script>window.pwned=1</script>",
    "<style>*{display:none!important}</style>",
    "</title><script>window.pwned=1</script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "</table></div></body></html>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<base href=https://example.invalid/>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "<link rel=stylesheet href=https://example.invalid/x.css>",
    "url(https://example.invalid/x.png)",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "\\u003cscript\\u003e",
    "${window.pwned=1}",
    "{{constructor.constructor('window.pwned=1')()}}",
    "`window.pwned=1`",
    "\u202etxet desrever",
    "\u2066\u2069\u200f\u200e",
    "\u2028\u2029",
    "\x00\x01\x08\x0b\x1f\x7f\x85",
    "\ufeff\ufffe\uffff",
    "\ud800",
    "a\u0301" * 40,
    "🧨" * 10,
    "x" * 5000,
    "\n\r\t",
    "%3Cscript%3E",
    "[link](javascript:window.pwned=1)",
    "| a | b |",
    "__proto__",
    "constructor",
    "</bdi></span></td></tr>",
    "<a href=https://example.invalid/>click</a>",
    "<form action=https://example.invalid/><button>",
    "<textarea>",
    "<plaintext>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<math><mtext></p><script>window.pwned=1</script>",
    "expression(window.pwned=1)",
)


def hostile_strings(n, seed=0):
    """As many strings as asked for, the pieces first, then combinations of them."""
    rng = random.Random(seed)
    found = list(PIECES[:n])
    while len(found) < n:
        found.append("".join(rng.choices(PIECES, k=rng.randint(2, 4)))[:6000])
    return found
