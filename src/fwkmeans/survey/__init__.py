"""The experiment of the survey as one command: run it, and set it beside the published figures."""

from fwkmeans.survey.contenders import COMPARED, Contender, parse_contender, parse_grid
from fwkmeans.survey.protocol import Protocol, Unit, survey_protocol
from fwkmeans.survey.run import Done, run_survey, run_unit
from fwkmeans.survey.store import Cell, Store
from fwkmeans.survey.tables import TableSpec, parse_table

__all__ = [
    "COMPARED",
    "Cell",
    "Contender",
    "Done",
    "Protocol",
    "Store",
    "TableSpec",
    "Unit",
    "parse_contender",
    "parse_grid",
    "parse_table",
    "run_survey",
    "run_unit",
    "survey_protocol",
]
