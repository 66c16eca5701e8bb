"""The experiment of the survey as one command: run it, and set it beside the published figures."""

from fwkmeans.survey.contenders import COMPARED, Contender, parse_contender, parse_grid
from fwkmeans.survey.export import export_cells
from fwkmeans.survey.label_free import LABEL_FREE, QUICK_SIZES, SIZES
from fwkmeans.survey.label_free_report import label_free_lines, label_free_results
from fwkmeans.survey.protocol import QUICK, Protocol, Unit, survey_protocol
from fwkmeans.survey.report import write_survey_report
from fwkmeans.survey.run import Done, run_survey, run_unit
from fwkmeans.survey.store import Cell, Store
from fwkmeans.survey.tables import TableSpec, parse_table

__all__ = [
    "COMPARED",
    "LABEL_FREE",
    "QUICK",
    "QUICK_SIZES",
    "SIZES",
    "Cell",
    "Contender",
    "Done",
    "Protocol",
    "Store",
    "TableSpec",
    "Unit",
    "export_cells",
    "label_free_lines",
    "label_free_results",
    "parse_contender",
    "parse_grid",
    "parse_table",
    "run_survey",
    "run_unit",
    "survey_protocol",
    "write_survey_report",
]
