"""One way to break every rule of the gates, by the name it has in a report."""

from corruptions.ablations import ABLATION_BREAKS
from corruptions.arena import ARENA_BOARD_BREAKS, ARENA_BREAKS, JUDGED_BREAKS
from corruptions.boards import BOARD_BREAKS, EXTERNAL_BREAKS
from corruptions.breaks import Break, Row
from corruptions.diagnosis import DIAGNOSIS_BREAKS, GIVEN_BREAKS, MASTERY_BOARD_BREAKS
from corruptions.items import ITEM_BREAKS
from corruptions.rubrics import RUBRIC_BOARD_BREAKS, RUBRIC_BREAKS
from corruptions.teaching import LEAGUE_BREAKS

__all__ = [
    "ABLATION_BREAKS",
    "ARENA_BOARD_BREAKS",
    "ARENA_BREAKS",
    "BOARD_BREAKS",
    "DIAGNOSIS_BREAKS",
    "EXTERNAL_BREAKS",
    "GIVEN_BREAKS",
    "ITEM_BREAKS",
    "JUDGED_BREAKS",
    "LEAGUE_BREAKS",
    "MASTERY_BOARD_BREAKS",
    "RUBRIC_BOARD_BREAKS",
    "RUBRIC_BREAKS",
    "Break",
    "Row",
]
