"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import itertools
import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
wanted = [
    *project["project"]["dependencies"],
    *itertools.chain(*project["project"]["optional-dependencies"].values()),
    *project["dependency-groups"]["test"],
]
# constraints have no extras
lowest = {re.sub(r"\[.*\]", "", name).replace(">=", "==") for name in wanted if ">=" in name}
lowest.add("pyparsing<3.3")  # newer ones warn of how the lowest matplotlib calls them
sys.stdout.write("\n".join(sorted(lowest)) + "\n")
