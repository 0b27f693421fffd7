"""Keeps what is private to a machine or a person out of records: home paths, user and host names, tokens, environment.

Free text (faults, notes, facts) is rewritten. Values that must stay exact (inputs, settings) are never rewritten:
`withhold` says whether one must be recorded by its digest alone.

It deliberately does not read the meaning of text: a name a user types into a prompt is the user's own content.
"""

import getpass
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_GENERIC_ACCOUNTS = frozenset({"root", "user", "admin", "ubuntu", "debian", "guest", "nobody", "test", "home", "runner", "localhost"})
"""Names that identify nobody and are ordinary words; paths that hold them are still cut."""
_SECRET_NAME = re.compile(r"token|secret|passw|credential|api_?key|private|auth|session|cookie", re.I)
_SHORTEST_SECRET = 8
_TOKENS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:hf|ghp|gho|ghu|ghs|ghr|glpat|npm|pypi|xox[abprs]|sk|pk|rk)[_-][\w-]{16,}"
    r"|\bgithub_pat_\w{20,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bAIza[\w-]{30,}"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=password=)|(?<=passwd=)|(?<=token=)|(?<=api_key=)|(?<=apikey=)|(?<=secret=))[^\s&\"',;]{6,}",
    re.S,
)
_HOMES = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[\\/]+(?:home|Users)[\\/]+[^\\/\s\"':;,)]+")
_ABSOLUTE = re.compile(r"(?<![\w.~:/\\])(?:[A-Za-z]:\\|\\\\|/)(?:[^\s\\/\"'<>|:;,()]+[\\/])+([^\s\\/\"'<>|:;,()]*)")
_REMOVED = "[removed]"


class Scrubber:
    """Knows this machine's private strings. Build one with `of_this_machine`."""

    def __init__(self, *, homes: tuple[str, ...] = (), names: tuple[str, ...] = (), secrets: tuple[str, ...] = ()) -> None:
        self._homes = _any_of(homes)
        self._names = _any_of(name for name in names if len(name) > 2 and name.lower() not in _GENERIC_ACCOUNTS)
        self._secrets = _any_of(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)

    @classmethod
    def of_this_machine(cls, environment: Mapping[str, str] | None = None) -> "Scrubber":
        """Homes, account and host names, and the values of environment variables whose names say that they are secret."""
        variables = os.environ if environment is None else environment
        home = Path.home()
        homes = {str(home), os.path.realpath(home), *(variables.get(name, "") for name in ("HOME", "USERPROFILE", "HF_HOME"))}
        names = {_account(), home.name, *(variables.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "COMPUTERNAME", "HOSTNAME"))}
        host = platform.node()
        secrets = {value for name, value in variables.items() if _SECRET_NAME.search(name)}
        return cls(
            homes=tuple(home for home in homes if len(home) > 1),
            names=(*names, host, host.partition(".")[0]),
            secrets=tuple(value for value in secrets if not value.isdigit()),
        )

    def text(self, text: str) -> str:
        """`text` with secrets removed, home folders as `~`, other absolute paths as their last part, names replaced."""
        for pattern, instead in ((self._secrets, _REMOVED), (_TOKENS, _REMOVED), (self._homes, "~"), (_HOMES, "~"), (_ABSOLUTE, r"…/\1")):
            text = pattern.sub(instead, text)
        return self._names.sub("[name]", text)

    def value(self, value: Any) -> Any:
        """`value` with every string in it rewritten, names of fields included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def withhold(self, value: Any) -> bool:
        """Whether `value` holds a secret or a home path, so that only its digest may be recorded."""
        if isinstance(value, str):
            return any(pattern.search(value) for pattern in (self._secrets, _TOKENS, self._homes, _HOMES))
        if isinstance(value, Mapping):
            return any(self.withhold(str(name)) or self.withhold(part) for name, part in value.items())
        if isinstance(value, list | tuple):
            return any(self.withhold(part) for part in value)
        return False


def _any_of(strings: Any) -> re.Pattern[str]:
    """A pattern for any of `strings` as whole words, longest first; for none, one that never matches."""
    listed = sorted({string for string in strings if string}, key=len, reverse=True)
    if not listed:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(string) for string in listed)})(?!\w)")


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no account database for this process: then there is no name to leak
        return ""
