"""The runtimes of a server, by the name that a plan gives them."""

from collections.abc import Mapping
from typing import Final

from moet_boot.launch.plan import Runtime
from moet_boot.supervise.container_runtime import container_attempt
from moet_boot.supervise.process_runtime import process_attempt
from moet_boot.supervise.serve import Attempter

ATTEMPTERS: Final[Mapping[Runtime, Attempter]] = {"process": process_attempt, "docker": container_attempt}
