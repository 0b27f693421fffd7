"""What a method may raise, and the value an error becomes when it leaves a worker.

    MethodError                 what happened, why, what to do next
    ├─ SettingError             a setting is out of range or does not fit another one; `field` names the control
    ├─ InputError               the shared input cannot be used; `field` names the control
    ├─ CheckpointError          files are missing, of another layout, or unsafe
    ├─ NumericalError           NaN or infinity appeared; names the step
    ├─ OutOfMemory              the device or the machine ran out; names a setting to lower
    └─ DeadlineExceeded         the run's time limit passed
    Cancelled                   the user stopped the run; not an error to show

It deliberately knows nothing of HTTP or of the page.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Fault(BaseModel):
    """An error as a value: it crosses processes, is stored with the run, and is shown at the control `field`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    what: str
    why: str = ""
    next_step: str = ""
    field: str | None = None
    suggestion: Any = None
    """The nearest legal value of `field`, offered as a button, or None."""

    def sentence(self) -> str:
        """The whole message in one line."""
        return " ".join(part for part in (self.what, self.why, self.next_step) if part)


class MethodError(Exception):
    """The root of everything a method raises on purpose."""

    def __init__(self, what: str, why: str = "", next_step: str = "", *, field: str | None = None, suggestion: Any = None) -> None:
        super().__init__(" ".join(part for part in (what, why, next_step) if part))
        self.fault = Fault(kind=type(self).__name__, what=what, why=why, next_step=next_step, field=field, suggestion=suggestion)


class SettingError(MethodError):
    """A setting is out of range or contradicts another one."""


class InputError(MethodError):
    """The shared input cannot be used by this method."""


class CheckpointError(MethodError):
    """A checkpoint is missing files, has another layout, or is of an unsafe kind."""


class NumericalError(MethodError):
    """NaN or infinity appeared in the model's output."""


class OutOfMemory(MethodError):
    """The device or the machine ran out of memory."""


class DeadlineExceeded(MethodError):
    """The run's time limit passed."""


class Cancelled(Exception):
    """The user stopped the run. A method may catch it to yield partial artifacts, and must raise it again."""
