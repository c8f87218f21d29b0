"""What a household consists of: classes of objects and receptacles, what each can do and which fits into which.

The facts are those of the 1,074 released games that were looked at, where every object of a class has the same
abilities and one table says which receptacle takes what. Names are spelt as in the released folder names; ids
and types in a problem are their lower-case forms.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .problem import (
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    IS_RECEPTACLE,
    PICKUPABLE,
    SLICEABLE,
    TOGGLEABLE,
)

_PORTABLE = """
    AlarmClock Apple BaseballBat BasketBall Book Boots Bowl Box Bread ButterKnife CD Candle CellPhone Cloth
    CreditCard Cup DishSponge Egg Fork Glassbottle HandTowel Kettle KeyChain Knife Ladle Laptop Lettuce Mug
    Newspaper Pan PaperTowelRoll Pen Pencil PepperShaker Pillow Plate Plunger Pot Potato RemoteControl SaltShaker
    ScrubBrush SoapBar SoapBottle Spatula Spoon SprayBottle Statue TeddyBear TennisRacket TissueBox ToiletPaper
    Tomato Towel Vase Watch WateringCan WineBottle"""
_FIXED = """
    Bathtub Blinds Chair Curtains DeskLamp FloorLamp Footstool HousePlant LaundryHamperLid LightSwitch Mirror
    Painting Poster ShowerDoor ShowerGlass Sink StoveKnob Television Window"""
_ABILITIES = {
    PICKUPABLE: _PORTABLE,
    CLEANABLE: """Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Kettle Knife Ladle Lettuce Mug Pan Plate
        Pot Potato SoapBar Spatula Spoon Tomato""",
    COOLABLE: "Apple Bowl Bread Cup Egg Lettuce Mug Pan Plate Pot Potato Tomato WineBottle",
    HEATABLE: "Apple Bread Cup Egg Mug Plate Potato Tomato",
    SLICEABLE: "Apple Bread Egg Lettuce Potato Tomato",
    TOGGLEABLE: "DeskLamp FloorLamp",
    IS_RECEPTACLE: "Bowl Box Cup Mug Pan Plate Pot",
}

_DESKTOP = "CellPhone CreditCard KeyChain Laptop Newspaper RemoteControl"
_SEAT = f"Book Box {_DESKTOP} Pillow"
_SOAPS = "Candle Cloth DishSponge HandTowel SoapBar SoapBottle SprayBottle TissueBox ToiletPaper"
_WRITING = "Book CD CellPhone CreditCard KeyChain Pen Pencil RemoteControl TissueBox"
_CUTLERY = "ButterKnife Fork Knife Ladle Spatula Spoon"
_FOOD = "Apple Egg Potato Tomato"
_DISHES = "Bowl Cup Glassbottle Mug Plate"
_KITCHENWARE = f"{_DISHES} Kettle Pan PepperShaker Pot SaltShaker SoapBottle WineBottle"
_LARGE_TABLE = f"""{_FOOD} Bread Lettuce ButterKnife Fork Knife Spatula Spoon {_WRITING} AlarmClock BaseballBat
    BasketBall Bowl Box Candle Cloth Cup DishSponge Kettle Laptop Mug Newspaper Pan PepperShaker Plate Pot SaltShaker
    SoapBottle SprayBottle Statue TennisRacket Vase Watch WateringCan WineBottle"""
_TAKES = {
    "ArmChair": f"{_SEAT} Cloth",
    "BathtubBasin": "Cloth DishSponge HandTowel SoapBar",
    "Bed": "BaseballBat BasketBall Book CellPhone Laptop Pillow TennisRacket",
    "Cabinet": f"""{_KITCHENWARE} Book Box CD Candle Cloth DishSponge HandTowel Ladle Newspaper Plunger SoapBar
        SprayBottle TissueBox ToiletPaper Vase WateringCan""",
    "Cart": f"{_SOAPS} Plunger",
    "CoffeeMachine": "Mug",
    "CoffeeTable": f"""{_DESKTOP} Book Bowl Box Candle Pen Pencil Plate Statue TissueBox Vase Watch
        WateringCan""",
    "CounterTop": f"""{_CUTLERY} {_FOOD} {_KITCHENWARE} {_WRITING} {_SOAPS} AlarmClock Bread Laptop Lettuce Statue
        Vase""",
    "Desk": f"""{_WRITING} AlarmClock BasketBall Bowl Box Cloth Laptop Mug Statue TennisRacket Vase Watch
        WateringCan""",
    "DiningTable": f"{_LARGE_TABLE} Glassbottle Ladle",
    "Drawer": f"""{_CUTLERY} {_WRITING} Candle Cloth DishSponge HandTowel Newspaper PepperShaker SaltShaker SoapBar
        SoapBottle SprayBottle ToiletPaper Watch WateringCan""",
    "Dresser": f"""{_WRITING} AlarmClock BasketBall Bowl Box Candle Cloth Laptop Mug Newspaper Plate SprayBottle
        Statue TennisRacket ToiletPaper Vase Watch WateringCan""",
    "Fridge": f"{_FOOD} {_DISHES} Bread Lettuce Pan Pot WineBottle",
    "GarbageCan": f"""{_FOOD} Bread CD Cloth DishSponge HandTowel Lettuce Newspaper Pen Pencil SoapBar SoapBottle
        SprayBottle TissueBox ToiletPaper WineBottle""",
    "HandTowelHolder": "HandTowel",
    "LaundryHamper": "Cloth",
    "Microwave": f"{_FOOD} {_DISHES} Bread",
    "Ottoman": _SEAT,
    "Safe": "CD CellPhone CreditCard KeyChain Statue Vase Watch",
    "Shelf": f"""{_SOAPS} {_DISHES} AlarmClock Book Box CD CellPhone CreditCard Kettle KeyChain Newspaper Pen Pencil
        PepperShaker Pot RemoteControl SaltShaker Statue Vase Watch WateringCan WineBottle""",
    "SideTable": f"{_LARGE_TABLE} HandTowel SoapBar ToiletPaper",
    "SinkBasin": f"{_CUTLERY} {_FOOD} {_DISHES} Cloth DishSponge HandTowel Kettle Lettuce Pan Pot SoapBar",
    "Sofa": _SEAT,
    "StoveBurner": "Kettle Pan Pot",
    "TVStand": "TissueBox",
    "Toaster": "",
    "Toilet": _SOAPS,
    "ToiletPaperHanger": "ToiletPaper",
    "TowelHolder": "Towel",
}

SPELLING: Final[Mapping[str, str]] = MappingProxyType(
    {name.lower(): name for name in [*_PORTABLE.split(), *_FIXED.split(), *_TAKES]}
)
"""Each class as it is spelt in folder names: ``{"butterknife": "ButterKnife", ...}``."""

PROPERTIES: Final[Mapping[str, int]] = MappingProxyType(
    {
        name.lower(): sum([bit for bit, names in _ABILITIES.items() if name in names.split()])
        for name in [*_PORTABLE.split(), *_FIXED.split()]
    }
)
"""What objects of each class can do, as the bits of ``Thing.properties``."""

CAN_CONTAIN: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {name.lower(): frozenset(taken.lower().split()) for name, taken in _TAKES.items()}
)
"""For each class of receptacle, the classes of objects that it takes."""

SINGLE: Final[frozenset[str]] = frozenset(
    ("coffeemachine", "handtowelholder", "stoveburner", "toaster", "toiletpaperhanger", "towelholder")
)
"""Classes of receptacles that hold one thing at the start."""
