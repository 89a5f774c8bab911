"""The memory of a boot by phase: the only place with that arithmetic. All sizes in bytes."""

from moet_boot.forecast.boot import forecast
from moet_boot.forecast.facts import BootFacts, boot_facts
from moet_boot.forecast.model import Forecast, KvRoom, PhasePeak, Staging, Term

__all__ = ["BootFacts", "Forecast", "KvRoom", "PhasePeak", "Staging", "Term", "boot_facts", "forecast"]
