"""Time that passed, on a scale with ticks at round seconds, minutes and hours."""

from __future__ import annotations

from redraft.plots.scales import Linear

_ROUND = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_MINUTE, _HOUR = 60, 3600


class Clock(Linear):
    """A scale of seconds."""

    @classmethod
    def until(cls, seconds: float, *, ticks: int = 6) -> Clock:
        """A scale from zero to at least so many seconds."""
        wide = Linear.over([0, seconds], ticks=ticks)
        step = next((step for step in _ROUND if step * ticks >= seconds), wide.step)
        if seconds <= ticks or step == wide.step:
            return cls(0.0, max(wide.high, wide.step), wide.step)
        return cls(0.0, float(step * -(-seconds // step)), float(step))

    def label(self, value: float) -> str:
        """Seconds below a minute, then minutes and seconds, then hours and minutes."""
        if self.high < _MINUTE or self.high >= 1e7:
            return super().label(value)
        whole = round(value)
        if self.high < 2 * _HOUR:
            return f"{whole // _MINUTE}:{whole % _MINUTE:02}"
        return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}"

    @property
    def unit(self) -> str:
        """What its labels are in."""
        if self.high < _MINUTE or self.high >= 1e7:
            return "seconds"
        return "minutes:seconds" if self.high < 2 * _HOUR else "hours:minutes"
