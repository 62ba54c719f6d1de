"""Which adapter serves which provider, built when first asked for; knows no vendor, no request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from everturn.errors import DefectError, RejectedError
from everturn.llm.catalogue import Catalogue, Route
from everturn.ports.model import Model


class UnknownProvider(RejectedError, code="unknown_provider"):
    """No adapter is registered for the provider; routing needs one. Source: session-log MC-1."""


class RouteTaken(DefectError):
    """Two adapters claim one provider."""


class RegistrationReleased(DefectError):
    """A registration was used after its release. Source: session-log MC-4."""


@dataclass(frozen=True, slots=True)
class Served:
    """A route and how to build the adapter that serves it."""

    route: Route
    build: Callable[[], Model]
    """Called at most once, when the first call goes that way."""


class _Slot:
    """An adapter that is built once."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._built: list[Model] = []
        self._lock = Lock()

    def model(self) -> Model:
        with self._lock:
            if not self._built:
                self._built.append(self.served.build())
            return self._built[0]


_Slots = dict[str, _Slot]


def slots_of(served: tuple[Served, ...]) -> _Slots:
    """Return `served` by provider; raises `RouteTaken` for one that stands twice."""
    slots: _Slots = {}
    for one in served:
        if one.route.id in slots:
            raise RouteTaken(f"provider {one.route.id} stands twice in one registration")
        slots[one.route.id] = _Slot(one)
    return slots


def merged(parts: Iterable[_Slots]) -> _Slots:
    """Return all of `parts` as one; raises `RouteTaken` where two of them meet."""
    slots: _Slots = {}
    for part in parts:
        taken = slots.keys() & part.keys()
        if taken:
            raise RouteTaken(f"providers served twice: {', '.join(sorted(taken))}")
        slots |= part
    return slots


class ModelRegistry:
    """Kind of provider -> adapter. Thread-safe: readers see a whole set or the next one."""

    def __init__(self, default_provider: str = "demo") -> None:
        self._default_provider = default_provider
        self._owned: dict[Registration, _Slots] = {}
        self._slots: _Slots = {}
        self._lock = Lock()

    def register(self, *served: Served) -> Registration:
        """Add routes; raises `RouteTaken` and adds none if one of them is served already."""
        registration = Registration(self)
        self.swap(registration, served)
        return registration

    def catalogue(self) -> Catalogue:
        """Return the routes of this moment."""
        return self._catalogue_of(self._slots)

    def model(self, kind: str) -> Model:
        """Return the adapter that serves a kind of provider; raises `UnknownProvider`."""
        slot = self._slots.get(kind)
        if slot is None:
            raise UnknownProvider(f"no provider named {kind} is registered")
        return slot.model()

    def _catalogue_of(self, slots: _Slots) -> Catalogue:
        routes = tuple(slot.served.route for slot in slots.values())
        return Catalogue(routes, self._default_provider)

    def swap(self, owner: Registration, served: tuple[Served, ...] | None) -> None:
        """Give `owner` the routes `served` in one step, or none at all; for `Registration`."""
        with self._lock:
            owned = {key: slots for key, slots in self._owned.items() if key is not owner}
            if served is not None:
                owned[owner] = slots_of(served)
            self._slots = merged(owned.values())
            self._owned = owned


class Registration:
    """The right to replace or withdraw the routes that one adapter registered. Source: MC-4."""

    def __init__(self, registry: ModelRegistry) -> None:
        self._registry = registry
        self._released = False

    def replace(self, *served: Served) -> None:
        """Serve exactly `served` from now on; the set is checked in full, then swapped.

        Raises `RouteTaken`, which changes nothing, and `RegistrationReleased`.
        """
        if self._released:
            raise RegistrationReleased("this registration was released")
        self._registry.swap(self, served)

    def release(self) -> None:
        """Withdraw the routes; a second time does nothing."""
        self._released = True
        self._registry.swap(self, None)
