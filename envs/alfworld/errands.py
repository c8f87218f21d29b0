"""What a player may be asked to do: task types, rooms, objects and targets, and how the task sentence puts it.

How often each occurs follows the 1,074 released games that were looked at. An errand is drawn in three steps:
a line of the task type by its weight, then the object by its weight, then the target by its weight among those
that take the object. Appliances are never targets of their own treatment, as in the released games.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from .dice import Dice
from .household import CAN_CONTAIN
from .problem import TaskType

LAMP: Final = "desklamp"
"""The class of lamp that the player is asked to use: the floor lamps stand in no receptacle."""

APPLIANCES: Final[Mapping[TaskType, str]] = {
    TaskType.CLEAN: "sinkbasin",
    TaskType.COOL: "fridge",
    TaskType.HEAT: "microwave",
}
"""The class of receptacle that treats the object, for the types that have one."""

# Two wordings a type, each as frequent as the other in the released games.
_SENTENCES = {
    TaskType.PICK_AND_PLACE: ("put a {object} in {target}.", "put some {object} on {target}."),
    TaskType.LOOK_AT: ("look at {object} under the {target}.", "examine the {object} with the {target}."),
    TaskType.CLEAN: ("put a clean {object} in {target}.", "clean some {object} and put it in {target}."),
    TaskType.COOL: ("put a cool {object} in {target}.", "cool some {object} and put it in {target}."),
    TaskType.HEAT: ("put a hot {object} in {target}.", "heat some {object} and put it in {target}."),
    TaskType.PICK_TWO: ("put two {object} in {target}.", "find two {object} and put them in {target}."),
}


class Errand(NamedTuple):
    """What is asked: the task type, the room, the class of object, and the class of target (or lamp)."""

    task_type: TaskType
    room: str
    object: str
    target: str


class _Line(NamedTuple):
    """A kind of room in which a task type occurs, with weights."""

    room: str
    weight: int
    objects: dict[str, int]
    targets: dict[str, int]


def _line(room: str, weight: int, objects: str, targets: str) -> _Line:
    return _Line(room, weight, _weights(objects), _weights(targets))


def _weights(text: str) -> dict[str, int]:
    fields = text.split()
    return {name: int(weight) for name, weight in zip(fields[::2], fields[1::2], strict=True)}


_LINES = {
    TaskType.PICK_AND_PLACE: (
        _line(
            "kitchen",
            15,
            """tomato 14 peppershaker 14 saltshaker 12 pan 8 glassbottle 6 bowl 4 egg 4 kettle 4 winebottle 4 fork 3
            knife 3 butterknife 2 lettuce 2 potato 2 soapbottle 2""",
            """drawer 22 microwave 22 countertop 12 diningtable 14 cabinet 12 sidetable 6 fridge 6 stoveburner 10
            shelf 3 garbagecan 3""",
        ),
        _line(
            "livingroom",
            26,
            """creditcard 20 remotecontrol 15 vase 12 keychain 10 statue 9 watch 9 newspaper 8 pillow 8 box 6
            tissuebox 5 book 3 bowl 2""",
            "armchair 24 coffeetable 24 sofa 22 safe 12 ottoman 8 dresser 5 drawer 4 sidetable 4 diningtable 2 shelf 2",
        ),
        _line(
            "bedroom",
            26,
            """cellphone 21 cd 14 pencil 11 alarmclock 10 mug 10 book 8 keychain 8 pen 6 creditcard 4 laptop 3 pillow 2
            remotecontrol 2 tissuebox 2""",
            "desk 28 shelf 22 dresser 17 sidetable 16 armchair 8 bed 6 diningtable 3 safe 2",
        ),
        _line(
            "bathroom",
            33,
            """toiletpaper 21 candle 16 soapbottle 16 spraybottle 16 handtowel 11 cloth 5 soapbar 4 dishsponge 3
            tissuebox 3""",
            """toilet 34 garbagecan 14 toiletpaperhanger 40 cabinet 11 countertop 11 cart 8 drawer 6 dresser 2
            sidetable 2""",
        ),
    ),
    TaskType.LOOK_AT: (
        _line(
            "bedroom",
            89,
            """cd 15 book 13 bowl 13 pillow 13 alarmclock 9 pencil 8 laptop 7 pen 7 mug 6 creditcard 3 keychain 3
            cellphone 2 vase 1""",
            f"{LAMP} 1",
        ),
        _line(
            "livingroom",
            11,
            "newspaper 18 statue 18 watch 18 box 9 pillow 9 plate 9 tissuebox 9 vase 9",
            f"{LAMP} 1",
        ),
    ),
    TaskType.CLEAN: (
        _line(
            "kitchen",
            72,
            """ladle 13 kettle 12 fork 7 knife 7 lettuce 6 bowl 6 pan 6 plate 6 spatula 6 butterknife 5 egg 5 mug 5
            tomato 4 spoon 4 apple 3 cup 3 dishsponge 2 pot 2 potato 2""",
            """diningtable 20 countertop 20 cabinet 16 drawer 16 fridge 9 stoveburner 10 microwave 8 sidetable 7
            coffeemachine 60 shelf 5 garbagecan 2""",
        ),
        _line(
            "bathroom",
            28,
            "soapbar 65 cloth 25 dishsponge 10",
            "cabinet 31 countertop 22 toilet 18 drawer 13 garbagecan 11 cart 5",
        ),
    ),
    TaskType.COOL: (
        _line(
            "kitchen",
            100,
            """mug 16 pan 13 tomato 10 lettuce 8 pot 9 cup 8 bread 6 plate 6 apple 6 potato 5 winebottle 5 bowl 4
            egg 4""",
            """countertop 20 microwave 22 diningtable 18 cabinet 14 shelf 8 stoveburner 8 coffeemachine 60 garbagecan 5
            sidetable 3""",
        ),
    ),
    TaskType.HEAT: (
        _line(
            "kitchen",
            100,
            "mug 23 tomato 17 egg 14 potato 14 apple 12 cup 10 plate 8 bread 2",
            """fridge 22 garbagecan 17 cabinet 26 coffeemachine 60 diningtable 13 countertop 10 sidetable 7
            shelf 5""",
        ),
    ),
    TaskType.PICK_TWO: (
        _line(
            "kitchen",
            14,
            """peppershaker 20 saltshaker 17 cup 10 knife 10 lettuce 10 spatula 7 apple 4 bread 4 egg 4 glassbottle 4
            pan 4 pot 4 spoon 4""",
            "drawer 34 fridge 14 shelf 14 cabinet 10 countertop 7 microwave 7 sidetable 7 diningtable 4 garbagecan 4",
        ),
        _line(
            "livingroom",
            30,
            """creditcard 15 remotecontrol 15 newspaper 12 keychain 9 vase 9 pillow 8 watch 8 tissuebox 6 cellphone 5
            box 3 laptop 3 statue 3 pen 2 plate 2""",
            """armchair 23 coffeetable 22 sofa 18 ottoman 12 dresser 9 drawer 5 desk 3 diningtable 3 safe 3
            sidetable 2""",
        ),
        _line(
            "bedroom",
            26,
            """cd 18 cellphone 18 creditcard 15 book 13 pencil 11 keychain 9 alarmclock 7 pen 5 vase 2 watch 2""",
            "dresser 22 desk 20 drawer 18 safe 12 sidetable 12 shelf 6 diningtable 6 bed 4 armchair 4 garbagecan 4",
        ),
        _line(
            "bathroom",
            30,
            """soapbar 22 toiletpaper 23 spraybottle 23 soapbottle 16 candle 6 handtowel 3 tissuebox 3 cloth 2
            dishsponge 2""",
            "toilet 26 garbagecan 22 drawer 16 cabinet 16 countertop 6 cart 6 shelf 3 sidetable 3 dresser 2",
        ),
    ),
}


def draw_errand(dice: Dice, task_type: TaskType) -> Errand:
    """Draws what is asked in a game of a task type."""
    lines = _LINES[task_type]
    line = lines[dice.weighted({index: line.weight for index, line in enumerate(lines)})]
    wanted = dice.weighted(line.objects)
    if task_type is TaskType.LOOK_AT:
        return Errand(task_type, line.room, wanted, LAMP)
    fitting = {target: weight for target, weight in line.targets.items() if wanted in CAN_CONTAIN[target]}
    return Errand(task_type, line.room, wanted, dice.weighted(fitting))


def draw_sentence(dice: Dice, errand: Errand) -> str:
    """Words the task line, ``Your task is to: ...``, in one of the two ways of its type."""
    wording = dice.pick(_SENTENCES[errand.task_type])
    return f"Your task is to: {wording.format(object=errand.object, target=errand.target)}"
