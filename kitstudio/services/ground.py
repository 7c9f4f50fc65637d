"""What the composer stands on: fetching, importing, judging; and judging again what was approved before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from kitstudio.models import set_file
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind, ListedKit
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.plan import Member, Offer, Plan, Problem, plan_set
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.reference import Reference, parse_location
from kitstudio.services.composition import JudgedPlan, SetState, expanded_set
from kitstudio.services.members import fetch_member
from kitstudio.services.places import Places
from kitstudio.services.shared_files import file_clashes


class Judgement:
    """The composer's ``Ground`` over all places.

    ``claims``: what the runtime enforces. ``offers``: Kits the catalog knows, for proposals.
    """

    def __init__(
        self,
        places: Places,
        claims: Callable[[], frozenset[str]],
        offers: Callable[[], Sequence[Offer]],
    ) -> None:
        self._places = places
        self._claims = claims
        self._offers = offers

    def exact(self, text: str) -> Reference | None:
        """The reference a spelling means, None where the source must be asked (folder, layout, no version)."""
        location = parse_location(text, Path.cwd())
        if isinstance(location, Reference) and (location.tag or location.digest):
            return location
        return None

    async def adopt(self, text: str) -> tuple[Reference, str]:
        """Import what is local, find the newest version; the reference to write, and its digest if it is pinned."""
        location = parse_location(text, Path.cwd())
        if isinstance(location, Reference):
            return await self._places.newest(location), ""
        return await self._places.import_local(location)

    async def member(self, reference: str, digest: str) -> Member:
        """Fetch one Kit; failures are in the member."""
        return await fetch_member(self._places, reference, digest)

    async def clashes(self, members: Sequence[Member]) -> tuple[Problem, ...]:
        """Files that two of these Kits ship, from layers that are here already."""
        return await file_clashes(self._places, BlobStore(self._places.blobs), members)

    def judge(self, descriptor: Descriptor, members: tuple[Member, ...], state: SetState) -> JudgedPlan:
        """Everything that follows from the set and what is known of its members."""
        plan = plan_set(
            descriptor,
            members,
            secrets=state.secrets,
            set_args=state.set_args,
            choices=state.choices,
            claimed=self._claims(),
            environment=state.environment,
            catalog_offers=self._offers(),
        )
        return _judged(plan, descriptor, state)

    def again(self, plan: JudgedPlan, choices: Mapping[str, bool]) -> JudgedPlan:
        """The same set with other choices, nothing fetched."""
        assert plan.state is not None and plan.document is not None
        state = replace(plan.state, choices={**plan.state.choices, **choices})
        return self.judge(plan.document, plan.members, state)


async def relock(
    judgement: Judgement, lock: Lock, document: str, environment: Mapping[str, str] | None = None
) -> JudgedPlan:
    """Judge an approved set once more: its Kits by digest, with the choices and args the lock states, and the overrides
    of one sandbox (§6.1).

    Secrets are in no lock: a set that was given one must be approved again with it.
    """
    for kit in lock.kits:
        for name, value in kit.args.items():
            if value is None:
                raise KitStudioError(
                    f"The secret {name} of {kit.reference} is needed again; it was not stored.",
                    where=lock.name,
                    remedy="Launch the set anew and give the value.",
                )
    text = document or set_file.render(
        Descriptor("3", kind=Kind.SET, kits=tuple(_listed(kit) for kit in lock.kits), kits_stated=True)
    )
    state = SetState(
        text,
        choices=dict(lock.selection),
        set_args={name: value for name, value in lock.set_args.items() if value is not None},
        environment=environment or {},
    )
    pins = {kit.reference: kit.digest for kit in lock.kits}
    descriptor = expanded_set(decode(text), state)
    members = []
    for listed in descriptor.kits:
        member = await judgement.member(listed.ref, pins.get(listed.ref, listed.digest))
        members.append(replace(member, args=dict(listed.args)))
    return judgement.judge(descriptor, tuple(members), state)


def _listed(kit: LockedKit) -> ListedKit:
    return ListedKit(kit.reference, kit.digest, {name: value or "" for name, value in kit.args.items()})


def _judged(plan: Plan, document: Descriptor, state: SetState) -> JudgedPlan:
    inputs = tuple(replace(i, secret=i.secret or (i.kit, i.name) in state.secrets) for i in plan.inputs)
    plan = replace(plan, inputs=inputs)
    known = {field.name: getattr(plan, field.name) for field in fields(Plan)}
    return JudgedPlan(**known, state=state, document=document)
